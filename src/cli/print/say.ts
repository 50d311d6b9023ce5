import { toJsonLine } from './inert.ts'

/** Answers go to stdout, remarks to stderr: what is piped on holds nothing but answers. */
export const say = (text: string): void => void process.stdout.write(`${text}\n`)

export const sayJson = (value: unknown): void => say(toJsonLine(value))

export const remark = (text: string): void => void process.stderr.write(`${text}\n`)

/** How many columns the terminal has; undefined where no terminal looks on. */
export const columnsHere = (): number | undefined =>
  process.stdout.isTTY ? Math.max(60, process.stdout.columns || 80) : undefined
