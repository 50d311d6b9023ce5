import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** Of an installed package. */
export const versionOf = async (name: string): Promise<string> => {
  const file = fileURLToPath(new URL(`../node_modules/${name}/package.json`, import.meta.url))
  return JSON.parse(await readFile(file, 'utf8')).version
}
