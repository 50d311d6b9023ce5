import { ReprieveError } from './error.ts'
import type { Event } from './event.ts'
import type { Letter } from './letter.ts'
import type { Repair } from './repair.ts'
import { type Condition, holds, readJson, readWhere } from './where.ts'

/**
 * What can be told only by reading a letter whole. Of one that was repaired the payload is looked at as it died and as a
 * replay would send it: it fits where one of the two does, by itself.
 */
export interface Sifting {
  /** Words that all stand in the error, its code, or the name of what was thrown, whatever their case. */
  readonly error?: string
  /** Words that all stand in the payload, whatever their case. */
  readonly payload?: string
  /** Conditions on a JSON payload, like `$.order.total > 100 and $.lines[*].sku = "a-7"`. */
  readonly where?: string
}

/** Throws `bad_filter` where a condition can't be read; undefined where nothing is asked. */
export const sieveFor = ({
  error,
  payload,
  where,
}: Sifting): ((kept: { readonly letter: Letter; readonly repair?: Repair }) => boolean) | undefined => {
  const inError = wordsOf('error', error)
  const inPayload = wordsOf('payload', payload)
  const conditions = where === undefined ? [] : readWhere(where)
  if (inError.length + inPayload.length + conditions.length === 0) return undefined
  return ({ letter, repair }) =>
    haveAll(inError, () => errorText(letter)) &&
    (payloadFits(letter.event, inPayload, conditions) ||
      (repair !== undefined && payloadFits(repair, inPayload, conditions)))
}

const NAMES = ['service', 'topic', 'type', 'category', 'kind', 'code', 'fingerprint', 'beginning'] as const

/**
 * What an operator chooses by. An empty name is a slip, most likely of a variable that was not set: as it is written it would
 * fit all letters that have no such thing, or none.
 */
export const checkFilter = (
  filter: Sifting & { readonly [name in (typeof NAMES)[number]]?: string },
): void => {
  sieveFor(filter)
  const empty = NAMES.find((name) => filter[name]?.trim() === '')
  if (empty === undefined) return
  throw new ReprieveError('bad_filter', `the filter can't be read: '${empty}' is empty`, {
    fix: 'give it a name, or leave it out',
  })
}

/** What was asked for without a word would fit everything. */
const wordsOf = (name: string, text: string | undefined): readonly string[] => {
  if (text === undefined) return []
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length > 0) return words
  throw new ReprieveError('bad_filter', `the filter can't be read: '${name}' has no words to look for`, {
    fix: `name some, like ${name === 'error' ? "'connection refused'" : "'ann@example.org'"}, or leave it out`,
  })
}

const haveAll = (words: readonly string[], text: () => string): boolean => {
  if (words.length === 0) return true
  const within = text().toLowerCase()
  return words.every((word) => within.includes(word))
}

const errorText = ({ error, code = '', trail }: Letter): string =>
  `${trail.records.at(-1)?.name ?? ''} ${code} ${error}`

const payloadFits = (
  { data }: Pick<Event, 'data'>,
  words: readonly string[],
  conditions: readonly Condition[],
): boolean => {
  if (words.length + conditions.length === 0) return true
  if (data === null) return false
  const text = Buffer.from(data).toString('utf8')
  if (!haveAll(words, () => text)) return false
  if (conditions.length === 0) return true
  const read = readJson(text)
  return read !== undefined && conditions.every((condition) => holds(condition, read.value))
}
