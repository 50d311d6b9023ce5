import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair } from 'yaml'
import { composeYaml } from './compose.ts'
import { type Environment, fillIn, hasPlaceholder } from './environment.ts'
import { type Problem, showPath } from './problem.ts'

export type Path = readonly string[]

export interface Place {
  readonly line: number
  readonly column: number
}

/** A YAML text as plain values, and where each of them was written. */
export interface Tree {
  readonly root: unknown
  readonly problems: readonly Problem[]
  /** Of the value at a path; of the nearest one around it where there is none. */
  place(path: Path): Place
  /** Of the key that a value stands under. */
  keyPlace(path: Path): Place
  /** Lines by path, for provenance. */
  readonly lines: ReadonlyMap<string, number>
  /** How the value was written, where that differs: placeholders are shown, never what they hold. */
  readonly written: ReadonlyMap<string, string>
}

const MAX_DEPTH = 16
const MAX_ALIASED = 5000
/** Names that would reach into what every object inherits. */
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype'])

export const pathKey = (path: Path): string => path.join('\0')

export const readTree = (text: string, file: string, env: Environment): Tree => {
  const counter = new LineCounter()
  const problems: Problem[] = []
  const places = new Map<string, Place>()
  const keyPlaces = new Map<string, Place>()
  const lines = new Map<string, number>()
  const written = new Map<string, string>()
  const anchors = new Map<string, Node>()
  const open = new Set<Node>()
  let aliased = 0

  const at = (offset: number | undefined): Place => {
    const { line, col } = counter.linePos(offset ?? 0)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  const startOf = (node: Node): number | undefined => node.range?.[0]
  const report = (place: Place, path: Path, found: string, expected: string): undefined => {
    problems.push({ file, ...place, path: showPath(path), found, expected })
  }

  const value = (node: Node | null, path: Path, viaAlias: boolean): unknown => {
    const key = pathKey(path)
    if (node === null) return null
    const place = at(startOf(node))
    if (!isScalar(node) || node.value !== null) places.set(key, place)
    if (!lines.has(key)) lines.set(key, place.line)
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
        keyPlaces.set(pathKey(inner), place)
        lines.set(pathKey(inner), place.line)
        result[name] = value(node, inner, viaAlias)
      }
    }
    return result
  }

  const around = (map: ReadonlyMap<string, Place>, path: Path): Place => {
    for (let length = path.length; length >= 0; length--) {
      const key = pathKey(path.slice(0, length))
      const place = map.get(key) ?? keyPlaces.get(key)
      if (place) return place
    }
    return { line: 1, column: 1 }
  }

  const composed = composeYaml(text, counter)
  for (const { offset, found, expected } of composed.faults) report(at(offset), [], found, expected)
  const root = composed.faults.length > 0 ? undefined : value(composed.root, [], false)
  return {
    root,
    problems,
    lines,
    written,
    place: (path) => around(places, path),
    keyPlace: (path) => around(keyPlaces, path),
  }
}
