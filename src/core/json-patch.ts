import { ReprieveError } from './error.ts'
import { isRaw, sameJson } from './json-exact.ts'

/** JSON Patch (RFC 6902). Documents are never changed: what an operation touches is made anew. */
export type PatchStep =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly from: string; readonly path: string }

/** `undefined` is a document that is not there. */
export type Patched =
  | { readonly is: 'fits'; readonly value: unknown }
  | { readonly is: 'no fit'; readonly why: string }

const MOST_STEPS = 1000
const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/

/** Throws `bad_usage`, with the place, for what is no patch. */
export const readPatch = (json: unknown): readonly PatchStep[] => {
  if (!Array.isArray(json)) return refuse('it is a list of operations, like [{"op":"remove","path":"/note"}]')
  if (json.length > MOST_STEPS) return refuse(`it has more than ${MOST_STEPS} operations`)
  return json.map((step, i) => readStep(step, `operation ${i + 1}`))
}

const readStep = (json: unknown, where: string): PatchStep => {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return refuse(`${where} is no object`)
  const { op, path, from, value } = json as Record<string, unknown>
  const pointer = (name: string, text: unknown): string => {
    if (typeof text === 'string' && POINTER.test(text)) return text
    return refuse(`${where}: '${name}' must be a JSON pointer, like /order/lines/0`)
  }
  switch (op) {
    case 'add':
    case 'replace':
    case 'test':
      if (value === undefined) return refuse(`${where}: '${op}' needs a value`)
      return { op, path: pointer('path', path), value }
    case 'remove':
      return { op, path: pointer('path', path) }
    case 'move':
    case 'copy':
      return { op, from: pointer('from', from), path: pointer('path', path) }
    default:
      return refuse(`${where}: 'op' is one of add, remove, replace, move, copy, test`)
  }
}

const refuse = (why: string): never => {
  throw new ReprieveError('bad_usage', `the patch can't be read: ${why}`, {
    fix: 'write a JSON Patch (RFC 6902), or use --set, --unset and --rename',
  })
}

export const applyPatch = (document: unknown, steps: readonly PatchStep[]): Patched => {
  let value = document
  for (const [i, step] of steps.entries()) {
    const after = applyStep(value, step)
    if ('why' in after)
      return { is: 'no fit', why: `${steps.length > 1 ? `operation ${i + 1}: ` : ''}${after.why}` }
    value = after.value
  }
  return { is: 'fits', value }
}

type Stepped = { readonly value: unknown } | { readonly why: string }

const applyStep = (document: unknown, step: PatchStep): Stepped => {
  const path = tokensOf(step.path)
  switch (step.op) {
    case 'add':
      return put(document, path, step.value, 'add')
    case 'replace':
      return there(document, path) ? put(document, path, step.value, 'replace') : nothingAt(step.path)
    case 'remove':
      return there(document, path) ? take(document, path) : nothingAt(step.path)
    case 'test': {
      const found = valueAt(document, path)
      if (!found) return nothingAt(step.path)
      return sameJson(found.value, step.value)
        ? { value: document }
        : { why: `${named(step.path)} has another value` }
    }
    case 'copy':
    case 'move': {
      const found = valueAt(document, tokensOf(step.from))
      if (!found) return nothingAt(step.from)
      if (step.op === 'copy') return put(document, path, found.value, 'add')
      if (step.path === step.from) return { value: document }
      if (step.path.startsWith(`${step.from}/`)) return { why: `${named(step.from)} can't move into itself` }
      const without = take(document, tokensOf(step.from))
      return 'why' in without ? without : put(without.value, path, found.value, 'add')
    }
  }
}

const tokensOf = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))

export const pointerOf = (tokens: readonly (string | number)[]): string =>
  tokens.map((token) => `/${String(token).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

const named = (pointer: string): string => (pointer === '' ? 'the document' : pointer)
const nothingAt = (pointer: string): Stepped => ({ why: `there is no ${named(pointer)}` })

const INDEX = /^(?:0|[1-9]\d{0,8})$/

const isContainer = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !isRaw(value)

/** What stands there; undefined where nothing does. */
export const valueAt = (
  document: unknown,
  tokens: readonly string[],
): { readonly value: unknown } | undefined => {
  let value = document
  for (const token of tokens) {
    if (!isContainer(value)) return undefined
    if (Array.isArray(value)) {
      if (!INDEX.test(token) || Number(token) >= value.length) return undefined
      value = value[Number(token)]
    } else {
      if (!Object.hasOwn(value, token)) return undefined
      value = (value as Record<string, unknown>)[token]
    }
  }
  return value === undefined ? undefined : { value }
}

const there = (document: unknown, tokens: readonly string[]): boolean =>
  valueAt(document, tokens) !== undefined

/** Names like `__proto__` are names: entries are copied as data, nothing is ever assigned. */
const withEntries = (
  container: object,
  change: (entries: readonly (readonly [string, unknown])[]) => readonly (readonly [string, unknown])[],
): object => Object.fromEntries(change(Object.entries(container)))

const put = (
  document: unknown,
  tokens: readonly string[],
  value: unknown,
  how: 'add' | 'replace',
): Stepped => {
  const [token, ...rest] = tokens
  if (token === undefined) return { value }
  if (!isContainer(document)) return { why: `there is nothing that could hold '${token}'` }
  if (Array.isArray(document)) {
    const at = token === '-' ? document.length : Number(token)
    if ((token !== '-' && !INDEX.test(token)) || at > document.length)
      return { why: `'${token}' is no place in a list of ${document.length}` }
    if (rest.length === 0) return { value: document.toSpliced(at, how === 'add' ? 0 : 1, value) }
    if (at === document.length) return { why: `there is no ${pointerOf([token])}` }
    const inner = put(document[at], rest, value, how)
    return 'why' in inner ? inner : { value: document.with(at, inner.value) }
  }
  const known = Object.hasOwn(document, token)
  if (rest.length > 0 && !known) return { why: `there is no ${pointerOf([token])}` }
  const inner = put((document as Record<string, unknown>)[token], rest, value, how)
  if ('why' in inner) return inner
  return {
    value: withEntries(document, (entries) =>
      known
        ? entries.map(([name, each]) => [name, name === token ? inner.value : each])
        : [...entries, [token, inner.value]],
    ),
  }
}

const take = (document: unknown, tokens: readonly string[]): Stepped => {
  const [token, ...rest] = tokens
  if (token === undefined) return { value: undefined }
  const container = document as object
  if (Array.isArray(container)) {
    const at = Number(token)
    if (rest.length === 0) return { value: container.toSpliced(at, 1) }
    const inner = take(container[at], rest)
    return 'why' in inner ? inner : { value: container.with(at, inner.value) }
  }
  if (rest.length === 0)
    return { value: withEntries(container, (entries) => entries.filter(([name]) => name !== token)) }
  const inner = take((container as Record<string, unknown>)[token], rest)
  if ('why' in inner) return inner
  return {
    value: withEntries(container, (entries) =>
      entries.map(([name, each]) => [name, name === token ? inner.value : each]),
    ),
  }
}
