import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = join(dirname(fileURLToPath(import.meta.url)), '../..')

export interface Source {
  /** From the project's root, with forward slashes. */
  readonly path: string
  readonly text: string
  /** Relative imports, resolved to paths as above; types and dynamic imports included. */
  readonly imports: readonly string[]
  /** Packages and built-ins. */
  readonly packages: readonly string[]
}

const IMPORT = /(?:\bfrom\s*|\bimport\s*\(\s*|^import\s+)'([^']+)'/gm

const read = (path: string): Source => {
  const text = readFileSync(join(root, path), 'utf8')
  const specifiers = [...text.matchAll(IMPORT)].map(([, name]) => name!)
  return {
    path,
    text,
    imports: specifiers
      .filter((name) => name.startsWith('.'))
      .map((name) => posix.normalize(posix.join(posix.dirname(path), name))),
    packages: specifiers.filter((name) => !name.startsWith('.')),
  }
}

/** Every TypeScript file of the product, tests left out. */
export const sources = (): readonly Source[] =>
  readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .map(read)

/** The room a file is in: `core`, `adapters/sqlite`, … ; files that stand at the top of src are the house itself. */
export const roomOf = (path: string): string => {
  const [, first, second, third] = path.split('/')
  if (second === undefined) return 'house'
  return first === 'adapters' && third !== undefined ? `adapters/${second}` : first!
}
