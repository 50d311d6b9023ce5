import { MAX_BYTES } from './compose.ts'
import type { Environment } from './environment.ts'
import { foundAt } from './found.ts'
import { isMapping } from './loose.ts'
import { mergeTrees } from './merge.ts'
import { type Path, valuePlace } from './place.ts'
import { type Problem, showPath } from './problem.ts'
import { readTree, type Tree } from './tree.ts'

/** Reads the book that another extends. This room touches no file: whoever has files hands this in. */
export type ReadOther = (target: string, from: string) => OtherBook | { readonly fault: string }

export interface OtherBook {
  /** Always the same for the same file, however it is reached. */
  readonly file: string
  readonly text: string
}

const MAX_DEPTH = 8
const MAX_PARTS = 64
const URL = /^[a-z][a-z0-9+.-]+:/i

export interface Gathered extends Tree {
  /** The book's own file first, then those that it extends, each once. */
  readonly files: readonly string[]
}

/** Why it can't be had, said after what it is. */
type Refuse = (why: string, expected: string) => undefined

/**
 * A book with everything that it extends, as one tree: what stands nearer wins, and in a list what stands later.
 * Without a root where a part can't be had: what would follow from that is not worth telling.
 */
export const gather = (text: string, file: string, env: Environment, readOther?: ReadOther): Gathered => {
  const read = new Map<string, Tree>()
  const wholes = new Map<string, Tree>()
  const problems: Problem[] = []
  let broken = false
  let bytes = 0

  const open = (text: string, file: string): Tree => {
    const tree = readTree(text, file, env)
    const own = [...checkPart(tree)]
    read.set(file, tree)
    bytes += Buffer.byteLength(text)
    problems.push(...tree.problems, ...own)
    broken ||= tree.root === undefined || own.length > 0
    return tree
  }

  /** With all it extends. `above`: the files on the way here. */
  const whole = (tree: Tree, file: string, above: readonly string[]): Tree => {
    const known = wholes.get(file)
    if (known) return known
    const way = [...above, file]
    let base: Tree | undefined
    for (const { target, path } of targetsOf(tree)) {
      if (typeof target !== 'string') continue
      const next = find(target, way, (why, expected) => {
        const found = `${foundAt(tree, path)}${why}`
        problems.push({ ...valuePlace(tree, path), path: showPath(path), found, expected })
        broken = true
      })
      if (!next) continue
      const far = whole(next.tree, next.file, way)
      base = base ? mergeTrees(base, far) : far
    }
    const result = base ? mergeTrees(base, tree) : tree
    wholes.set(file, result)
    return result
  }

  const find = (target: string, way: readonly string[], refuse: Refuse) => {
    if (URL.test(target)) return refuse(', a URL', 'a file: nothing is fetched')
    if (!readOther) return refuse('', 'no other book: this one was not read from a file')
    if (way.length > MAX_DEPTH) return refuse('', `at most ${MAX_DEPTH} books deep`)
    const other = readOther(target, way.at(-1)!)
    if ('fault' in other) return refuse(`, which ${other.fault}`, 'the path of a rule book')
    const { file, text } = other
    if (way.includes(file)) return refuse(`, which leads back to ${file}`, 'no circle of books')
    const known = read.get(file)
    if (known) return { tree: known, file }
    if (read.size === MAX_PARTS) return refuse('', `at most ${MAX_PARTS} books in all`)
    if (bytes + Buffer.byteLength(text) > MAX_BYTES) {
      return refuse(', too large beside the others', `at most ${MAX_BYTES} bytes in all`)
    }
    return { tree: open(text, file), file }
  }

  const tree = whole(open(text, file), file, [])
  return { ...tree, root: broken ? undefined : tree.root, problems, files: [...read.keys()] }
}

const targetsOf = ({ root }: Tree): readonly { readonly target: unknown; readonly path: Path }[] => {
  const written = isMapping(root) ? root.extends : undefined
  if (written === undefined || written === null) return []
  if (!Array.isArray(written)) return [{ target: written, path: ['extends'] }]
  return written.map((target, index) => ({ target, path: ['extends', `${index}`] }))
}

/** What the whole no longer shows, because a nearer book covers it. */
function* checkPart(tree: Tree): Generator<Problem> {
  const { root } = tree
  const problem = (path: Path, expected: string): Problem => ({
    ...valuePlace(tree, path),
    path: showPath(path),
    found: foundAt(tree, path),
    expected,
  })
  if (root === undefined || root === null) return
  if (!isMapping(root)) yield problem([], 'a mapping')
  else if (root.version !== undefined && root.version !== 1 && root.version !== '1') {
    yield problem(['version'], 'version: 1')
  }
  for (const { target, path } of targetsOf(tree)) {
    if (typeof target !== 'string' || target === '') yield problem(path, 'the path of a rule book')
  }
}
