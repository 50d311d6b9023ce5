import type { Command } from 'commander'
import type { ExitCode } from './failure.ts'
import type { Common } from './options.ts'

/** How a command ended, where that is not just fine. */
// biome-ignore lint/suspicious/noConfusingVoidType: most commands answer nothing
export type Ended = ExitCode | void

/**
 * Makes a commander action of a function that is given the arguments and all options, those of the program included,
 * and answers with an exit code.
 */
export const action =
  <O extends Common, A extends readonly unknown[]>(run: (options: O, ...args: A) => Promise<Ended>) =>
  async (...given: unknown[]): Promise<void> => {
    const command = given.at(-1) as Command
    const args = given.slice(0, -2) as unknown as A
    const options = command.optsWithGlobals<O & { jsonl?: true }>()
    process.exitCode = (await run(options.jsonl ? { ...options, json: true } : options, ...args)) ?? 0
  }
