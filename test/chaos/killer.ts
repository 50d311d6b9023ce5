import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { reprieve } from '../../src/index.ts'
import { folderWith, startCli } from '../scenarios/child.ts'

export interface KillerOptions {
  /** The service's name; the type of its events is `<name>.sent`. */
  readonly name?: string
  /** `sqlite`: a file of its own, which is the store too. */
  readonly transport: string
  readonly events: number
  /** What the handler does with the one message among them: statements. */
  readonly deed: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly pattern?: string
  readonly patience: number
}

export interface KillerResult {
  readonly killer: string
  /** How often its handler was begun. */
  readonly runs: number
  /** How often the supervisor had to start another process. */
  readonly deaths: number
  readonly letters: readonly {
    readonly event: string
    readonly kind: string
    readonly reason: string
    readonly error: string
    readonly to: string
  }[]
  readonly done: number
  readonly missing: number
  /** Effects beyond the first: of those that were under way when a process died. */
  readonly doubled: number
  readonly seconds: number
  readonly stdout: string
  readonly stderr: string
  readonly code: number | null
}

/** So many may be under way, or done and not yet settled, when a process dies. */
export const WINDOW = 40

/** `reprieve run` with one message among many that kills its process, until all is accounted for from outside. */
export const killerTest = async (options: KillerOptions): Promise<KillerResult> => {
  const { name = `killer-${randomUUID().slice(0, 8)}` } = options
  const type = `${name}.sent`
  const rules = `version: 1
services:
  ${name}: { concurrency: 10, window: ${WINDOW}, lease: 2s, timeout: 30s, idempotency: { pattern: ${options.pattern ?? 'dedup'} } }
`
  const handlers = `import { appendFileSync } from 'node:fs'
export default (app) => {
  app.service('${name}').on('${type}', async ({ id, data }) => {
    await new Promise((resolve) => setImmediate(resolve))
    if (data.kills) {
      appendFileSync('runs.log', id + '\\n')
      ${options.deed}
    }
    appendFileSync('effects.log', id + '\\n')
  })
}
`
  const cwd = folderWith({ 'handlers.ts': handlers, 'reprieve.yaml': rules })
  const file = join(cwd, 'reprieve.db')
  const transport = options.transport === 'sqlite' ? `sqlite:${file}` : options.transport
  const began = Date.now()
  const run = startCli(
    [
      'run',
      'handlers.ts',
      '--transport',
      transport,
      '--store',
      `sqlite:${file}`,
      '--json',
      ...(options.args ?? []),
    ],
    { cwd, ...(options.env && { env: options.env }) },
  )
  await run.said('"is":"started"')

  const publisher = await reprieve({
    transport,
    store: `sqlite:${file}`,
    rules: join(cwd, 'reprieve.yaml'),
    office: false,
  })
  const ids: string[] = []
  let killer = ''
  for (let i = 0; i < options.events; i += 100) {
    const batch = Array.from({ length: Math.min(100, options.events - i) }, (_, j) => i + j)
    const kills = (n: number) => n === Math.floor(options.events / 2)
    const published = await Promise.all(batch.map((n) => publisher.publish(type, { n, kills: kills(n) })))
    ids.push(...published)
    const at = batch.findIndex(kills)
    if (at >= 0) killer = published[at]!
  }
  await publisher.close()

  const lines = (log: string): string[] => {
    const path = join(cwd, log)
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
  }
  const end = Date.now() + options.patience
  const wanted = ids.filter((id) => id !== killer)
  const accounted = () => {
    const effects = new Set(lines('effects.log'))
    return lettersIn(file).length > 0 && wanted.every((id) => effects.has(id))
  }
  while (!accounted() && Date.now() < end) await systemClock.sleep(250)
  const seconds = Math.round((Date.now() - began) / 1000)
  run.signal('SIGTERM')
  const { code, stdout, stderr } = await run.ended
  const effects = lines('effects.log')
  const done = new Set(effects)
  return {
    killer,
    runs: lines('runs.log').length,
    deaths: stdout.split('\n').filter((line) => line.includes('the process that does the work')).length,
    letters: lettersIn(file),
    done: done.size,
    missing: wanted.filter((id) => !done.has(id)).length,
    doubled: effects.length - done.size,
    seconds,
    stdout,
    stderr,
    code,
  }
}

const LETTERS = `
SELECT json_extract(CAST(envelope AS TEXT), '$.originalEventId') AS event,
  json_extract(CAST(envelope AS TEXT), '$.failureKind') AS kind,
  json_extract(CAST(envelope AS TEXT), '$.reason') AS reason,
  json_extract(CAST(envelope AS TEXT), '$.error') AS error,
  json_extract(CAST(envelope AS TEXT), '$.destination') AS destination
FROM reprieve_envelope`

/** Read with a plain SQLite client. */
const lettersIn = (file: string): KillerResult['letters'] => {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  try {
    return database
      .prepare(LETTERS)
      .all()
      .map((row) => ({
        event: String(row.event),
        kind: String(row.kind),
        reason: String(row.reason),
        error: String(row.error),
        to: String(row.destination),
      }))
  } finally {
    database.close()
  }
}
