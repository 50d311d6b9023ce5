import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Instant, Millis } from '../core/time.ts'
import { DEFAULT_URL, type Options } from '../reprieve.ts'
import { A_DURATION, readDuration } from '../rules/duration.ts'

/** What every command knows. */
export interface Common {
  readonly rules?: string
  readonly transport?: string
  readonly store?: string
  readonly board?: string
  /** On commands that act. */
  readonly as?: string
  readonly json?: true
}

export const withCommon = (program: Command): Command =>
  program
    .addOption(
      new Option('--rules <file>', 'the rule book (else reprieve.yaml, here or above)').env('REPRIEVE_RULES'),
    )
    .addOption(
      new Option(
        '--transport <url>',
        'sqlite:app.db, postgres://…, amqp://…, kafka://…, memory: (else sqlite:reprieve.db)',
      ).env('REPRIEVE_TRANSPORT'),
    )
    .addOption(
      new Option('--store <url>', 'where ledger and dead letters are kept (else with the transport)').env(
        'REPRIEVE_STORE',
      ),
    )
    .addOption(
      new Option('--board <url>', 'where processes share breakers, budgets and orders (else the store)').env(
        'REPRIEVE_BOARD',
      ),
    )
    .option('--json', 'answer in JSON, for programs')
    .option('--jsonl', 'the same, and of a list one thing a line')

/** What the library is to open. */
export const openOptions = (flags: Common): Options => {
  const { transport, store, board, as } = flags
  const book = bookFile(flags)
  return {
    ...(book && { rules: book }),
    ...(transport && { transport }),
    ...(store && { store }),
    ...(board && { board }),
    ...(as !== undefined && { as }),
  }
}

/** Where the app keeps its dead letters, by what was said. */
export const storeUrl = ({ store, transport }: Common): string =>
  store || (transport && KEEPS_ALL.test(transport) ? transport : DEFAULT_URL)

/** Transports that are the app's store too, where no other is named. */
const KEEPS_ALL = /^(?:sqlite|memory|postgres(?:ql)?):/i

/** The rule book's file, if there is one. A variable that is set and empty says nothing. */
export const bookFile = ({ rules }: Common): string | undefined =>
  rules || findUpward('reprieve.yaml', process.cwd())

const findUpward = (name: string, from: string): string | undefined => {
  for (let folder = from; ; folder = dirname(folder)) {
    const file = join(folder, name)
    if (existsSync(file)) return file
    if (folder === dirname(folder)) return undefined
  }
}

export const asDuration = (text: string): Millis => {
  const ms = readDuration(text)
  if (ms === undefined) throw new InvalidArgumentError(`It must be ${A_DURATION}.`)
  return ms
}

/** A day or a moment as it is written in ISO 8601, or how long ago it was. A time without a zone is the machine's own. */
export const asMoment = (text: string, now: Instant): Instant => {
  const ago = readDuration(text)
  if (ago !== undefined) return now - ago
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)(?:[T ]\d\d:\d\d.*)?$/.exec(text) ?? []
  const there = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  // the 31st of February would be taken for the 3rd of March
  const at = there.getUTCDate() === Number(day) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(at)) return at
  throw new InvalidArgumentError('It must be a time such as 2026-01-31T10:00Z, or how long ago: 90m, 2h, 7d.')
}

export const asCount = (text: string): number => {
  const count = Number(text)
  if (!/^\d+$/.test(text) || count < 1 || count > 1_000_000) {
    throw new InvalidArgumentError('It must be a whole number from 1 to 1000000.')
  }
  return count
}

/** `--header name=value`, as often as wanted. */
export const asHeader = (
  text: string,
  before: Readonly<Record<string, string>> = {},
): Record<string, string> => {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It must be written name=value.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}
