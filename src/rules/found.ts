import { type Path, pathKey } from './place.ts'
import type { Tree } from './tree.ts'

/** What stands at a path, in words; what a placeholder holds is not told. */
export const foundAt = (tree: Tree, path: Path): string => {
  const written = tree.written.get(pathKey(path))
  if (written !== undefined) return `'${cut(withoutSecret(written))}', filled in`
  let value = tree.root
  for (const name of path) {
    value =
      value !== null && typeof value === 'object' && Object.hasOwn(value, name)
        ? (value as Record<string, unknown>)[name]
        : undefined
  }
  if (value === undefined || value === null) return 'nothing'
  if (typeof value === 'string') return `'${cut(withoutSecret(value))}'`
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'a mapping' : String(value)
}

/** A URL's user and password have no place in a message. */
const withoutSecret = (text: string): string => text.replace(/\/\/\S*@/g, '//…@')

const cut = (text: string): string => (text.length <= 60 ? text : `${text.slice(0, 59)}…`)
