import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Emits JavaScript and declarations into dist/, and copies what the code reads at run time beside them. */
const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const dist = join(root, 'dist')
const COPIED = /\.(ya?ml|txt)$/

rmSync(dist, { recursive: true, force: true })
execFileSync(
  process.execPath,
  [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'tsconfig.build.json')],
  {
    stdio: 'inherit',
  },
)
for (const entry of readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !COPIED.test(entry.name)) continue
  const from = join(entry.parentPath, entry.name)
  cpSync(from, join(dist, relative(join(root, 'src'), from)))
}
chmodSync(join(dist, 'cli/main.js'), 0o755)
