import { toJsonLine } from './inert.ts'
import { withTimes } from './times.ts'

/** Answers go to stdout, remarks to stderr: what is piped on holds nothing but answers. */
export const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** Asked by the command line as it was typed: what is wrong with the options themselves is told in JSON too. */
export const wantsJson = (): boolean => process.argv.includes('--json') || wantsLines()

const wantsLines = (): boolean => process.argv.includes('--jsonl')

/** On one line, with moments in ISO 8601; where lines were asked for and it is a list, or has one, each thing of it on its own. */
export const sayJson = (value: unknown, list?: readonly unknown[]): void => {
  const each = list ?? (Array.isArray(value) ? value : undefined)
  for (const one of each && wantsLines() ? each : [value]) say(toJsonLine(withTimes(one)))
}

export const remark = (text: string): void => void process.stderr.write(`${text}\n`)

/** With fewer columns nothing can be shown that says anything. */
const NARROWEST = 40

/** How many columns the terminal has; undefined where no terminal looks on. */
export const columnsHere = (): number | undefined =>
  process.stdout.isTTY ? Math.max(NARROWEST, process.stdout.columns || 80) : undefined

/** A terminal on which not all fits that one would like to see. */
export const isNarrow = (columns = columnsHere()): boolean => columns !== undefined && columns < WIDE
export const WIDE = 110
