import type { Command } from 'commander'
import { systemClock } from '../adapters/system/clock.ts'
import { systemDice } from '../adapters/system/dice.ts'
import type { Tools } from '../contracts/tools.ts'
import { openUrl, withoutSecret } from '../open.ts'
import type { TrialResult } from '../testing/trials/index.ts'
import { action, type Ended } from './action.ts'
import type { Common } from './options.ts'
import { inert, inertLines } from './print/inert.ts'
import { bad, calm, good, warn } from './print/paint.ts'
import { say, sayJson } from './print/say.ts'
import { span } from './print/time.ts'
import { padded } from './print/width.ts'

interface TrialFlags extends Common {
  readonly only?: string
}

export const registerTrials = (program: Command): void => {
  program
    .command('trials')
    .description('put a transport to the trials that every adapter must pass')
    .argument('<url>', 'where it is, like sqlite:trial.db or amqp://127.0.0.1')
    .option('--only <text>', 'only trials whose name holds this')
    .action(action(trials))
}

const trials = async (flags: TrialFlags, url: string): Promise<Ended> => {
  const { realWorld, runTrials } = await import('../testing/trials/index.ts')
  const tools: Tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
  // without a name each `memory:` is a world of its own, and trials open the same one several times
  const world = url === 'memory:' ? `memory:${tools.dice.uuid()}` : url
  const results = await runTrials(realWorld(openUrl, world, tools), {
    ...(flags.only !== undefined && { only: flags.only }),
    ...(!flags.json && { onResult: (result) => say(lineOf(result)) }),
  })
  const counts = countBy(results)
  if (flags.json) sayJson({ url: withoutSecret(url), ...counts, results: results.map(plainResult) })
  else say(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
  return counts.failed > 0 || results.length === 0 ? 1 : 0
}

const lineOf = (result: TrialResult): string => {
  const paint = { passed: good, failed: bad, skipped: warn }[result.is]
  const line = `${paint(padded(result.is, 8))}${padded(result.about, 10)}${inert(result.name)}`
  if (result.is === 'failed')
    return `${line}\n${calm(inertLines(result.error.message).replace(/^/gm, '    '))}`
  return `${line}  ${calm(result.is === 'skipped' ? inert(result.reason) : span(result.took))}`
}

const countBy = (results: readonly TrialResult[]) => ({
  passed: results.filter((result) => result.is === 'passed').length,
  failed: results.filter((result) => result.is === 'failed').length,
  skipped: results.filter((result) => result.is === 'skipped').length,
})

const plainResult = (result: TrialResult) =>
  result.is === 'failed' ? { ...result, error: result.error.message } : result
