import { ReprieveError } from './error.ts'
import { checkEvent, type Event, isJsonType } from './event.ts'
import { ANYTHING, checkNames, object, texts, type Wanted } from './given.ts'
import type { Json } from './json.ts'
import { parseExact, sameJson } from './json-exact.ts'
import { applyPatch, type Patched, type PatchStep, pointerOf, readPatch } from './json-patch.ts'
import { type Difference, differences, pathOf, placesOf, showPlace } from './json-paths.ts'
import type { Content } from './repair.ts'
import { ANY, type Step } from './where.ts'

/** How a letter's event is to be repaired: done in this order. */
export interface Change {
  /** JSON Patch (RFC 6902) on the body. */
  readonly patch?: readonly PatchStep[]
  /** Paths of the body, each to what comes from and where it goes. */
  readonly rename?: Readonly<Record<string, string>>
  /** Paths of the body, and what stands there from now on. */
  readonly set?: Readonly<Record<string, Json>>
  /** Paths of the body that go; where nothing stands nothing is done. */
  readonly unset?: readonly string[]
  /** Headers by name; null takes one away. */
  readonly headers?: Readonly<Record<string, string | null>>
}

export type Changed =
  | { readonly is: 'fits'; readonly content: Content; readonly differences: readonly Difference[] }
  | { readonly is: 'no fit'; readonly why: string }

const CHANGE = {
  set: object("{ '$.owner': 'ann' }"),
  unset: texts('$.note'),
  rename: {
    what: 'an object of texts',
    like: "{ '$.from': '$.to' }",
    fits: (value: unknown) =>
      object('').fits(value) && Object.values(value as object).every((each) => typeof each === 'string'),
  },
  headers: object("{ tenant: 'north' }"),
  patch: ANYTHING,
} satisfies Record<keyof Change, Wanted>

/** Throws `bad_usage` for what can't be read; what it answers was looked at whole. */
export const readChange = (change: Change): ((event: Event) => Changed) => {
  checkNames('the change', change, CHANGE)
  const patch = change.patch === undefined ? [] : readPatch(change.patch)
  const rename = Object.entries(change.rename ?? {}).map(([from, to]) => ({
    from: plain(from),
    to: plain(to),
  }))
  const set = Object.entries(change.set ?? {}).map(([path, value]) => ({ path: pathOf(path), value }))
  const unset = (change.unset ?? []).map(pathOf)
  const headers = Object.entries(change.headers ?? {})
  for (const [name, value] of headers) checkHeader(name, value)
  if (patch.length + rename.length + set.length + unset.length + headers.length === 0) {
    throw new ReprieveError('bad_usage', 'nothing is to be repaired: the change is empty', {
      fix: 'name a patch, or what to set, unset or rename',
    })
  }
  const body = (document: unknown): Patched => {
    let patched = applyPatch(document, patch)
    const then = (steps: (value: unknown) => readonly PatchStep[] | string): void => {
      if (patched.is === 'no fit') return
      const next = steps(patched.value)
      patched = typeof next === 'string' ? { is: 'no fit', why: next } : applyPatch(patched.value, next)
    }
    for (const { from, to } of rename) then((value) => renaming(value, from, to))
    for (const { path, value: to } of set) then((value) => setting(value, path, to))
    for (const path of unset) then((value) => unsetting(value, path))
    return patched
  }
  const touchesBody = patch.length + rename.length + set.length + unset.length > 0
  return (event) => {
    try {
      return changed(event, touchesBody ? body : undefined, headers)
    } catch (error) {
      if (error instanceof RangeError) return { is: 'no fit', why: 'its payload is nested too deep' }
      if (error instanceof ReprieveError) return { is: 'no fit', why: error.message }
      throw error
    }
  }
}

const changed = (
  event: Event,
  body: ((document: unknown) => Patched) | undefined,
  headers: readonly (readonly [string, string | null])[],
): Changed => {
  const before = { headers: event.headers, data: event.data }
  const names = new Set(headers.map(([name]) => name))
  const kept = Object.entries(event.headers).filter(([name]) => !names.has(name))
  const added = headers.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]))
  let { data } = before
  let told: readonly Difference[] = []
  if (body) {
    const { datacontenttype: type } = event
    if (!isJsonType(type))
      return { is: 'no fit', why: `its payload is ${type}, no JSON: only headers can be repaired` }
    const document = documentOf(event)
    const patched = body(document)
    if (patched.is === 'no fit') return patched
    data = patched.value === undefined ? null : Buffer.from(JSON.stringify(patched.value))
    told = differences(document, patched.value)
    if (sameJson(document, patched.value)) data = before.data // not written anew for nothing
  }
  const after = { headers: Object.fromEntries([...kept, ...added]), data }
  const all = [...told, ...headerDifferences(before.headers, after.headers)]
  if (all.length === 0) return { is: 'no fit', why: 'it would stay as it is' }
  checkEvent({ ...event, ...after })
  return { is: 'fits', content: after, differences: all }
}

/** undefined where there is no JSON: then only a whole new body fits. */
const documentOf = ({ data, datacontenttype }: Event): unknown =>
  data === null || !isJsonType(datacontenttype)
    ? undefined
    : parseExact(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('utf8'))?.value

/** What differs between two versions of one event. */
export const contentDifferences = (event: Event, before: Content, after: Content): readonly Difference[] => [
  ...differences(documentOf({ ...event, ...before }), documentOf({ ...event, ...after })),
  ...headerDifferences(before.headers, after.headers),
]

const headerDifferences = (a: Content['headers'], b: Content['headers']): readonly Difference[] =>
  differences({ ...a }, { ...b }).map((each) => ({ ...each, path: `headers${each.path.slice(1)}` }))

const HEADER = /^[\x21-\x7e]{1,200}$/

const checkHeader = (name: string, value: string | null): void => {
  const fits = value === null || (typeof value === 'string' && !/[\r\n\0]/.test(value))
  if (HEADER.test(name) && fits) return
  throw new ReprieveError('bad_usage', `'${name.slice(0, 100)}' can't be a header with this value`, {
    fix: 'names are visible ASCII, and values texts in one line',
  })
}

const plain = (text: string): readonly (string | number)[] => {
  const path = pathOf(text)
  if (!path.includes(ANY)) return path as readonly (string | number)[]
  throw new ReprieveError('bad_usage', `rename: '${text}' may not hold [*]`)
}

const renaming = (value: unknown, from: readonly Step[], to: readonly (string | number)[]) => {
  const [place] = placesOf(from, value)
  if (!place) return `there is no ${showPlace(from)}`
  return [{ op: 'move', from: pointerOf(place), path: pointerOf(to) }] as const
}

/** The last step may be new; what it stands in must be there. */
const setting = (value: unknown, path: readonly Step[], to: Json): readonly PatchStep[] | string => {
  const last = path.at(-1)
  if (last === undefined) return [{ op: 'add', path: '', value: to }]
  const there = placesOf(path, value)
  if (there.length > 0) return there.map((place) => ({ op: 'replace', path: pointerOf(place), value: to }))
  const parents = last === ANY ? [] : placesOf(path.slice(0, -1), value)
  if (parents.length === 0) return `there is no ${showPlace(path.slice(0, -1))}`
  return parents.map((place) => ({ op: 'add', path: pointerOf([...place, last as string]), value: to }))
}

/** From the end, so that places in a list stay where they were. */
const unsetting = (value: unknown, path: readonly Step[]): readonly PatchStep[] =>
  placesOf(path, value)
    .toReversed()
    .map((place) => ({ op: 'remove', path: pointerOf(place) }))
