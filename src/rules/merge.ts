import { isMapping, type Loose } from './loose.ts'
import { type Path, pathKey } from './place.ts'
import { KEYS } from './policies.ts'
import type { Tree } from './tree.ts'

/** One book over another: value by value, the nearer wins; lists are values. Each value keeps its place. */
export const mergeTrees = (far: Tree, near: Tree): Tree => ({
  root: mergeValues(far.root, near.root, []),
  problems: [],
  start: near.start,
  values: new Map([...moved(far.values, near), ...near.values]),
  keys: new Map([...moved(far.keys, near), ...near.keys]),
  written: new Map([...[...moved(far.written, near)].filter(([path]) => !says(near, path)), ...near.written]),
})

const says = ({ values, keys }: Tree, path: string): boolean => values.has(path) || keys.has(path)

/** Silences of every book count: each was given with a reason. */
const GATHERED = ['lint', 'silence'] as const
const GATHERED_KEY = pathKey(GATHERED)

/** The farther book's items stand behind the nearer one's, and so do their places. */
const moved = <T>(far: ReadonlyMap<string, T>, near: Tree): Iterable<readonly [string, T]> => {
  const count = gatheredIn(near.root)
  if (count === 0) return far
  return [...far].map(([path, value]) => {
    const [one, two, index, ...rest] = path.split('\0')
    if (index === undefined || pathKey([one!, two!]) !== GATHERED_KEY) return [path, value] as const
    return [pathKey([...GATHERED, `${Number(index) + count}`, ...rest]), value] as const
  })
}

const gatheredIn = (root: unknown): number => {
  const list = GATHERED.reduce<unknown>((at, name) => (isMapping(at) ? at[name] : undefined), root)
  return Array.isArray(list) ? list.length : 0
}

const mergeValues = (far: unknown, near: unknown, path: Path): unknown => {
  // an empty row or section says nothing: it takes nothing away
  if (near === undefined || (near === null && isMapping(far))) return far
  if (Array.isArray(far) && Array.isArray(near) && pathKey(path) === GATHERED_KEY) return [...near, ...far]
  if (!isMapping(far) || !isMapping(near)) return near
  const merged: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(far)) {
    if (!outdated(name, far, near)) merged[name] = value
  }
  for (const [name, value] of Object.entries(near)) {
    merged[name] = mergeValues(merged[name], value, [...path, name])
  }
  return merged
}

const OF_A_BACKOFF: ReadonlySet<string> = new Set(Object.values(KEYS).flat())

/** Two ways to say one thing: whoever says it anew means that the other way is over. */
const EITHER: Readonly<Record<string, string>> = {
  retries: 'attempts',
  attempts: 'retries',
  above: 'from',
  from: 'above',
}

/** What a nearer book makes void without naming it: the figures of another backoff, the other word for a limit. */
const outdated = (name: string, far: Loose, near: Loose): boolean => {
  if (OF_A_BACKOFF.has(name)) return near.backoff !== undefined && near.backoff !== far.backoff
  const other = EITHER[name]
  return other !== undefined && near[other] !== undefined
}
