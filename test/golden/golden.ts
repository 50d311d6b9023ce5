import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'

const folder = fileURLToPath(new URL('.', import.meta.url))

/**
 * Holds a text against the file that was looked at in review. After a change that is meant, `UPDATE_GOLDEN=1` before
 * the test's command writes the files anew; git then shows what changed.
 */
export const expectGolden = (file: string, text: string): void => {
  const path = join(folder, file)
  if (process.env.UPDATE_GOLDEN === '1') {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  expect(text, `${file} differs; UPDATE_GOLDEN=1 writes it anew`).toBe(readFileSync(path, 'utf8'))
}
