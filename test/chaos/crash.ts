import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { reprieve } from '../../src/index.ts'
import { plainly } from '../stores/postgres.ts'
import { endAll } from './ended.ts'

const here = dirname(fileURLToPath(import.meta.url))

export interface CrashOptions {
  /** The transport's URL; `sqlite` means a file in the test's own folder. One that is `postgres:` is the store too. */
  readonly transport: string
  readonly events: number
  /** How many workers are killed, evenly over the progress of the work. */
  readonly kills: number
  /** What is done in place of killing a worker. */
  readonly blow?: () => Promise<void>
  /** Gives up after this many milliseconds. */
  readonly patience: number
  readonly say?: (line: string) => void
}

export interface CrashResult {
  readonly published: number
  readonly done: number
  readonly dead: number
  /** Ids with neither an effect nor a letter. */
  readonly missing: readonly string[]
  /** Effects beyond the first: a worker died between its effect and the ack. */
  readonly doubled: number
  readonly kills: number
  readonly seconds: number
}

/**
 * Two workers, one of them killed with SIGKILL again and again, events that fail at random. Counts from outside:
 * effects from the workers' own files, letters by reading the store's table with a plain client.
 */
export const crashTest = async (options: CrashOptions): Promise<CrashResult> => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-chaos-'))
  const inPostgres = options.transport.startsWith('postgres:')
  const store = inPostgres ? options.transport : `sqlite:${join(folder, 'store.db')}`
  const transport = options.transport === 'sqlite' ? store : options.transport
  // names of our own: whoever tests on the same broker must not take over our letters
  const service = `chaos-svc-${process.pid}-${Date.now()}`
  const type = `chaos.event.${process.pid}.${Date.now()}`
  const began = Date.now()
  const workers: Promise<ChildProcess>[] = []
  const started: ChildProcess[] = []
  let kills = 0

  const startWorker = async (): Promise<ChildProcess> => {
    const effects = join(folder, `effects-${started.length}.log`)
    const child = fork(join(here, 'worker.ts'), [transport, store, effects], {
      env: { ...process.env, CHAOS_TYPE: type, CHAOS_SERVICE: service },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    started.push(child)
    await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => Promise.reject(new Error('a worker could not start'))),
    ])
    return child
  }
  const enlist = (): void => {
    const worker = startWorker()
    worker.catch(() => {}) // told when it is waited for
    workers.push(worker)
  }

  const effects = (): string[] =>
    readdirSync(folder)
      .filter((name) => name.startsWith('effects-'))
      .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean))

  const lettersInPostgres = async (): Promise<readonly string[]> => {
    const ids = "SELECT convert_from(envelope, 'UTF8')::json ->> 'originalEventId' AS id FROM letter"
    return (await plainly(store, ids)).map(({ id }) => String(id))
  }

  const lettersInFile = (): readonly string[] => {
    if (!existsSync(join(folder, 'store.db'))) return []
    const database = new DatabaseSync(join(folder, 'store.db'), { readOnly: true, timeout: 20_000 })
    try {
      return database
        .prepare(
          "SELECT json_extract(CAST(envelope AS TEXT), '$.originalEventId') AS id FROM reprieve_envelope",
        )
        .all()
        .map(({ id }) => String(id))
    } finally {
      database.close()
    }
  }

  const letters = async () => (inPostgres ? lettersInPostgres() : lettersInFile())

  try {
    enlist()
    enlist()
    await Promise.all(workers)
    const ids: string[] = []
    /** By a connection of its own each time: a blow may have cut the last one. */
    const publish = async (upTo: number): Promise<void> => {
      const publisher = await reprieve({ transport, store, rules: join(here, 'rules.yaml'), office: false })
      while (ids.length < upTo) {
        const some = Array.from({ length: Math.min(100, upTo - ids.length) }, (_, i) => ids.length + i)
        ids.push(...(await Promise.all(some.map((n) => publisher.publish(type, { n })))))
      }
      await publisher.close()
      options.say?.(`published ${ids.length}`)
    }
    const accounted = async () => new Set([...effects(), ...(await letters())])
    const end = began + options.patience
    let seen = new Set<string>()
    const untilSeen = async (most: number): Promise<void> => {
      for (seen = await accounted(); seen.size < most && Date.now() < end; seen = await accounted()) {
        options.say?.(`${seen.size} of ${ids.length} accounted for, ${kills} kills`)
        await systemClock.sleep(100)
      }
    }
    const strike = async (): Promise<void> => {
      kills++
      if (options.blow) return options.blow()
      await endAll([await workers.shift()!])
      enlist()
    }
    // each in the midst of a part of the work, and the next part is not there before: however slow the machine is, or we
    // alone, nobody can be through with all before the last of them has fallen
    for (let part = 1; part <= options.kills; part++) {
      const before = ids.length
      await publish(Math.round((options.events * part) / options.kills))
      await untilSeen((before + ids.length) / 2)
      await strike()
    }
    await publish(options.events)
    await untilSeen(ids.length)
    await Promise.all(workers)
    const done = effects()
    const dead = new Set(await letters())
    return {
      published: ids.length,
      done: new Set(done).size,
      dead: dead.size,
      missing: ids.filter((id) => !seen.has(id)),
      doubled: done.length - new Set(done).size,
      kills,
      seconds: Math.round((Date.now() - began) / 1000),
    }
  } finally {
    await endAll(started)
    rmSync(folder, { recursive: true, force: true })
  }
}
