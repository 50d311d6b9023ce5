import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair } from 'yaml'
import { composeYaml } from './compose.ts'
import { type Environment, fillIn, hasPlaceholder } from './environment.ts'
import { type Path, type Place, pathKey } from './place.ts'
import { type Problem, showPath } from './problem.ts'

/** A YAML text as plain values, and where each of them was written. By `pathKey` throughout. */
export interface Tree {
  readonly root: unknown
  readonly problems: readonly Problem[]
  readonly start: Place
  /** Where a value begins. */
  readonly values: ReadonlyMap<string, Place>
  /** Where the key stands that a value has. */
  readonly keys: ReadonlyMap<string, Place>
  /** How a value was written, where that differs: placeholders are shown, never what they hold. */
  readonly written: ReadonlyMap<string, string>
}

const MAX_DEPTH = 16
const MAX_ALIASED = 5000
/** Whoever mends these may ask again. */
const MOST_PROBLEMS = 1000
/** Names that would reach into what every object inherits. */
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype'])

export const readTree = (text: string, file: string, env: Environment): Tree => {
  const counter = new LineCounter()
  const problems: Problem[] = []
  const values = new Map<string, Place>()
  const keys = new Map<string, Place>()
  const written = new Map<string, string>()
  const anchors = new Map<string, Node>()
  const open = new Set<Node>()
  let aliased = 0

  const at = (offset: number | undefined): Place => {
    const { line, col } = counter.linePos(offset ?? 0)
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  const startOf = (node: Node): number | undefined => node.range?.[0]
  const report = (place: Place, path: Path, found: string, expected: string): undefined => {
    if (problems.length < MOST_PROBLEMS) problems.push({ ...place, path: showPath(path), found, expected })
  }

  const value = (node: Node | null, path: Path, viaAlias: boolean): unknown => {
    if (node === null) return null
    const place = at(startOf(node))
    if (!isScalar(node) || node.value !== null) values.set(pathKey(path), place)
    if (viaAlias && ++aliased > MAX_ALIASED) {
      if (aliased === MAX_ALIASED + 1) report(place, path, 'aliases that grow without end', 'fewer of them')
      return undefined
    }
    if (path.length > MAX_DEPTH) return report(place, path, 'too many levels', `at most ${MAX_DEPTH}`)
    if (isAlias(node)) {
      const target = anchors.get(node.source)
      if (!target) return report(place, path, `the alias *${node.source}`, 'an anchor of that name above it')
      if (open.has(target)) return report(place, path, `*${node.source} inside itself`, 'no circle')
      return value(target, path, true)
    }
    if (node.anchor && !viaAlias) anchors.set(node.anchor, node)
    if (isScalar(node)) return scalar(node.value, place, path)
    open.add(node)
    const result = isMap(node)
      ? mapping(node.items as Pair<Node, Node | null>[], path, viaAlias)
      : isSeq(node)
        ? (node.items as Node[]).map((item, index) => value(item, [...path, String(index)], viaAlias))
        : undefined
    open.delete(node)
    return result
  }

  const scalar = (found: unknown, place: Place, path: Path): unknown => {
    if (typeof found !== 'string' || !hasPlaceholder(found)) return found
    written.set(pathKey(path), found)
    const filled = fillIn(found, env)
    return filled.fault === undefined ? filled.text : report(place, path, filled.fault, filled.expected)
  }

  const mapping = (pairs: readonly Pair<Node, Node | null>[], path: Path, viaAlias: boolean): object => {
    const result: Record<string, unknown> = {}
    for (const { key, value: node } of pairs) {
      const place = at(startOf(key))
      if (!isScalar(key)) {
        report(place, path, 'a key that is not plain text', 'a name')
        continue
      }
      const name = key.source ?? String(key.value)
      const inner = [...path, name]
      if (FORBIDDEN.has(name)) report(place, inner, `the key '${name}'`, 'another name: this one is reserved')
      else if (Object.hasOwn(result, name)) report(place, inner, `the key '${name}' twice`, 'each key once')
      else {
        keys.set(pathKey(inner), place)
        result[name] = value(node, inner, viaAlias)
      }
    }
    return result
  }

  const composed = composeYaml(text, counter)
  for (const { offset, found, expected } of composed.faults) report(at(offset), [], found, expected)
  const root = composed.faults.length > 0 ? undefined : value(composed.root, [], false)
  return { root, problems, start: { file, line: 1, column: 1 }, values, keys, written }
}
