import type { Letter } from './letter.ts'
import { type Condition, holds, readJson, readWhere } from './where.ts'

/** What can be told only by reading a letter whole. */
export interface Sifting {
  /** Words that all stand in the error, its code, or the name of what was thrown, whatever their case. */
  readonly error?: string
  /** Words that all stand in the payload, whatever their case. */
  readonly payload?: string
  /** Conditions on a JSON payload, like `$.order.total > 100 and $.lines[*].sku = "a-7"`. */
  readonly where?: string
}

/** Throws `bad_filter` where a condition can't be read; undefined where nothing is asked. */
export const sieveFor = ({ error, payload, where }: Sifting): ((letter: Letter) => boolean) | undefined => {
  const inError = wordsOf(error)
  const inPayload = wordsOf(payload)
  const conditions = where === undefined ? [] : readWhere(where)
  if (inError.length + inPayload.length + conditions.length === 0) return undefined
  return (letter) => haveAll(inError, () => errorText(letter)) && payloadFits(letter, inPayload, conditions)
}

const wordsOf = (text = ''): readonly string[] => text.toLowerCase().split(/\s+/).filter(Boolean)

const haveAll = (words: readonly string[], text: () => string): boolean => {
  if (words.length === 0) return true
  const within = text().toLowerCase()
  return words.every((word) => within.includes(word))
}

const errorText = ({ error, code = '', trail }: Letter): string =>
  `${trail.records.at(-1)?.name ?? ''} ${code} ${error}`

const payloadFits = (
  { event }: Letter,
  words: readonly string[],
  conditions: readonly Condition[],
): boolean => {
  if (words.length + conditions.length === 0) return true
  if (event.data === null) return false
  const text = Buffer.from(event.data).toString('utf8')
  if (!haveAll(words, () => text)) return false
  if (conditions.length === 0) return true
  const read = readJson(text)
  return read !== undefined && conditions.every((condition) => holds(condition, read.value))
}
