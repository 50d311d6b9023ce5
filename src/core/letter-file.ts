import { createHash, type Hash } from 'node:crypto'
import type { Json } from './json.ts'
import { type Letter, type LetterState, toEnvelope } from './letter.ts'
import { isLetterId, letterOf } from './letter-reading.ts'
import { contentHash, type Repair, repairFromJson, repairToJson } from './repair.ts'
import { type Instant, iso } from './time.ts'

/**
 * Letters as JSON lines: a line that says what it is, a line for each letter, and a closing line with how many there are
 * and a hash over all lines before it. A file without that line was cut, or is still being written.
 */
export interface FiledLetter {
  readonly letter: Letter
  readonly state: LetterState
  readonly stateAt: Instant
  /** By version, from 1 on. */
  readonly repairs: readonly Repair[]
}

export type FileLine =
  | { readonly is: 'head'; readonly filter: Json }
  | ({ readonly is: 'letter' } & FiledLetter)
  | { readonly is: 'end'; readonly count: number; readonly hash: string }
  | { readonly is: 'fault'; readonly why: string }

const VERSION = 1
const STATES: ReadonlySet<string> = new Set([
  ...['open', 'replaying', 'resolved', 'dead again', 'discarded', 'quarantined'],
])

export const headLine = (at: Instant, filter: Json): string =>
  line({ reprieve: 'letters', version: VERSION, at: iso(at), filter })

export const letterLine = ({ letter, state, stateAt, repairs }: FiledLetter): string =>
  line({ letter: toEnvelope(letter), state, stateAt: iso(stateAt), repairs: repairs.map(repairToJson) })

export const endLine = (count: number, hash: string): string => line({ end: true, count, hash })

/** Plain ASCII, so that it is harmless wherever it is shown and the same wherever it is read. */
const line = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Over all lines before the last. */
export interface Tally {
  add(line: string): void
  hash(): string
}

export const createTally = (): Tally => {
  const hash: Hash = createHash('sha256')
  return { add: (line) => void hash.update(`${line}\n`), hash: () => hash.copy().digest('hex') }
}

/** What a line holds, or why it can't be what it claims to be. */
export const readLine = (text: string): FileLine => {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return fault('it is no JSON')
  }
  if (!isRecord(json)) return fault('it is no object')
  if ('reprieve' in json) return readHead(json)
  if ('end' in json) return readEnd(json)
  return readFiled(json)
}

const readHead = ({ reprieve, version, filter }: Loose): FileLine => {
  if (reprieve !== 'letters') return fault('it does not begin a file of letters')
  if (version !== VERSION)
    return fault(`its version is ${String(version).slice(0, 20)}, this one reads ${VERSION}`)
  return { is: 'head', filter: (filter ?? {}) as Json }
}

const readEnd = ({ count, hash }: Loose): FileLine =>
  Number.isSafeInteger(count) && typeof hash === 'string'
    ? { is: 'end', count: count as number, hash }
    : fault('the closing line has no count and hash')

const readFiled = ({ letter: envelope, state, stateAt, repairs = [] }: Loose): FileLine => {
  if (!isRecord(envelope)) return fault("'letter' is missing")
  const read = letterOf(envelope)
  if (!read || !isLetterId(read.letter.id))
    return fault("'dlqId' is missing, or 'originalMessage' is no event")
  const { letter, wrong } = read
  if (wrong.length > 0) return fault(`'${wrong[0]}' is missing, or not what it should be`)
  if (typeof state !== 'string' || !STATES.has(state)) return fault("'state' is none of a letter")
  const at = Date.parse(String(stateAt))
  if (Number.isNaN(at)) return fault("'stateAt' is no time")
  if (!Array.isArray(repairs)) return fault("'repairs' is no list")
  const versions: Repair[] = []
  for (const [i, each] of repairs.entries()) {
    const repair = repairFromJson(each)
    const before = versions.at(-1)?.hash ?? contentHash(letter.event)
    if (repair?.version !== i + 1 || repair.before !== before)
      return fault(`version ${i + 1} is not what was written`)
    versions.push(repair)
  }
  return { is: 'letter', letter, state: state as LetterState, stateAt: at, repairs: versions }
}

type Loose = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const fault = (why: string): FileLine => ({ is: 'fault', why })
