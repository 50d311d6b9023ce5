import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { alone, cacheFolder, intact, place } from '../services/cache.ts'
import { onPath, run } from '../services/processes.ts'
import { say } from '../services/say.ts'

export const DAPR_VERSION = '1.18.2'

/** What the tests use of a sidecar's hundred and more components; without the others it is built in minutes. */
const COMPONENTS = [
  'bindings_http.go',
  'bindings_smtp.go',
  'nameresolution_sqlite.go',
  'pubsub_in-memory.go',
  'pubsub_kafka.go',
  'pubsub_redis.go',
  'secretstores_local_env.go',
  'secretstores_local_file.go',
  'state_in-memory.go',
  'state_postgres.go',
  'state_redis.go',
  'state_sqlite.go',
]

/**
 * A real sidecar: the one that REPRIEVE_TEST_DAPRD names, the cached one, or one built from Dapr's own source. It
 * can't be had by `go install`, because its module replaces others. Throws a reason that a person can act on.
 */
export async function daprd(): Promise<string> {
  const named = process.env.REPRIEVE_TEST_DAPRD
  if (named) return named
  const folder = join(cacheFolder(), `daprd-${DAPR_VERSION}`)
  const program = join(folder, 'daprd')
  if (await intact(folder)) return program
  const go = onPath('go')
  if (!go)
    throw new Error(
      'a sidecar must be built, and there is no go on the PATH (or name one: REPRIEVE_TEST_DAPRD)',
    )
  await alone('daprd', async () => {
    if (!(await intact(folder))) await place(folder, (part) => build(go, join(part, 'daprd')))
  })
  return program
}

async function build(go: string, program: string): Promise<void> {
  say(`building daprd ${DAPR_VERSION}: about 8 minutes, once`)
  const fetched = await run(go, ['mod', 'download', '-json', `github.com/dapr/dapr@v${DAPR_VERSION}`], {
    cwd: tmpdir(),
  })
  const { Dir: source } = JSON.parse(fetched) as { Dir: string }
  const home = await mkdtemp(join(tmpdir(), 'reprieve-daprd-'))
  try {
    const copy = join(home, 'dapr')
    await cp(source, copy, { recursive: true })
    await run('chmod', ['-R', 'u+w', copy]) // Go keeps its modules read-only
    const components = join(copy, 'cmd', 'daprd', 'components')
    for (const file of await readdir(components)) {
      if (!COMPONENTS.includes(file)) await rm(join(components, file))
    }
    const options = ['-tags', 'allcomponents', '-trimpath', '-ldflags', '-s -w', '-o', program]
    await run('nice', ['-n', '15', go, 'build', ...options, './cmd/daprd'], {
      cwd: copy,
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false' },
    })
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}
