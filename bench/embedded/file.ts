import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A SQLite file in a folder of its own. */
export const freshFile = (): { readonly path: string; readonly url: string; clear(): void } => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-bench-'))
  const path = join(folder, 'app.db')
  return { path, url: `sqlite:${path}`, clear: () => rmSync(folder, { recursive: true }) }
}
