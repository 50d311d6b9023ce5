import { type Event, isJsonType } from './event.ts'
import { parseExact } from './json-exact.ts'
import { applyPatch, pointerOf, valueAt } from './json-patch.ts'
import { type Place, pathOf, placesOf, showPlace } from './json-paths.ts'
import type { Letter } from './letter.ts'
import { matches } from './pattern.ts'
import { currentEvent, type Repair } from './repair.ts'

/** What must not be kept of an event that died: paths of its JSON payload, and headers by name. */
export interface Redaction {
  readonly paths: readonly string[]
  /** Whatever their case; a star at the end stands for any ending. */
  readonly headers: readonly string[]
}

/** What stands in place of what was taken out. */
export const REDACTED = '[redacted]'
/** What is shorter stands in any text. */
const SHORTEST = 4

/** The letter without what the rules say must not be kept; what was there is taken out of its texts, too. */
export const redactLetter = (letter: Letter, rules: readonly Redaction[]): Letter => {
  const { event } = letter
  const paths = rules.flatMap((rule) => rule.paths)
  const body = paths.length === 0 ? NOTHING : redactBody(event, paths)
  const named = rules.flatMap((rule) => rule.headers.map((name) => name.toLowerCase()))
  const headers = Object.keys(event.headers).filter((name) =>
    named.some((pattern) => matches(pattern, name.toLowerCase())),
  )
  if (headers.length === 0 && body.at.length === 0) return letter
  const secrets = [...body.secrets, ...headers.map((name) => event.headers[name]!)]
    .filter((text) => text.length >= SHORTEST)
    .sort((a, b) => b.length - a.length)
  const clean = (text: string): string =>
    secrets.reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text)
  const { trail } = letter
  return {
    ...letter,
    event: {
      ...event,
      headers: Object.fromEntries(
        Object.entries(event.headers).map(([name, value]) => [
          name,
          headers.includes(name) ? REDACTED : value,
        ]),
      ),
      data: body.data === undefined ? event.data : body.data,
    },
    error: clean(letter.error),
    ...(letter.stack !== undefined && { stack: clean(letter.stack) }),
    trail: { ...trail, records: trail.records.map((record) => ({ ...record, error: clean(record.error) })) },
    redacted: { at: [...body.at, ...headers.map((name) => `headers.${name}`)] },
  }
}

interface RedactedBody {
  readonly at: readonly string[]
  readonly secrets: readonly string[]
  readonly data?: Uint8Array | null
}

const NOTHING: RedactedBody = { at: [], secrets: [] }

/** What can't be read can't be searched for secrets: nothing of it is kept. */
const redactBody = (event: Event, paths: readonly string[]): RedactedBody => {
  if (event.data === null) return NOTHING
  const document = documentOf(event)
  if (!document) return { at: ['$'], secrets: [], data: null }
  const places = new Map<string, Place>()
  for (const path of paths)
    for (const place of placesOf(pathOf(path), document.value)) places.set(pointerOf(place), place)
  if (places.size === 0) return NOTHING
  const found = [...places].map(([pointer, place]) => ({ pointer, place }))
  const secrets = found.flatMap(({ place }) => textsIn(valueAt(document.value, place.map(String))?.value))
  let { value } = document
  // a place inside one that is gone already is gone with it
  for (const { pointer } of found.sort((a, b) => a.place.length - b.place.length)) {
    const patched = applyPatch(value, [{ op: 'replace', path: pointer, value: REDACTED }])
    if (patched.is === 'fits') value = patched.value
  }
  const at = found.map(({ place }) => showPlace(place))
  return { at, secrets, data: Buffer.from(JSON.stringify(value)) }
}

const documentOf = ({ data, datacontenttype }: Event): { readonly value: unknown } | undefined =>
  isJsonType(datacontenttype) ? parseExact(Buffer.from(data ?? []).toString('utf8')) : undefined

/** Texts and numbers, as an error's message might hold them. */
const textsIn = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number') return [String(value)]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsIn)
}

/** Where it is still as it was redacted: such a letter can't be replayed before it is repaired there. */
export const redactedAt = (
  letter: Pick<Letter, 'event' | 'redacted'>,
  repair: Repair | undefined,
): readonly string[] => {
  if (!letter.redacted) return []
  const event = currentEvent(letter, repair)
  const document = documentOf(event)?.value
  return letter.redacted.at.filter((where) => {
    if (where.startsWith('headers.')) return event.headers[where.slice('headers.'.length)] === REDACTED
    if (where === '$') return event.data === null
    const [place] = placesOf(pathOf(where), document)
    return place !== undefined && valueAt(document, place.map(String))?.value === REDACTED
  })
}
