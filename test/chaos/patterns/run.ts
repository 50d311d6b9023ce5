import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../../src/adapters/system/clock.ts'
import { reprieve } from '../../../src/index.ts'
import { endAll } from '../ended.ts'
import type { Doom } from './doom.ts'
import { KEYS, LEASE, manyOrders, openEffects, type Pattern, WINDOW } from './effects.ts'
import type { Orders } from './worker.ts'

export interface PatternOptions {
  readonly pattern: Pattern
  /** `sqlite` means a file in the run's own folder. */
  readonly transport: string
  readonly events: number
  readonly workers: number
  /** In so many parts the events are published, so that each blow hits workers at work. */
  readonly waves: number
  /** What is done to them in the midst of each wave. */
  readonly blow?: Blow
  /** Deaths by their own hand, of the first workers. */
  readonly dooms?: readonly Doom[]
  /** A ledger beside the app's own store. */
  readonly ledger?: Orders['ledger']
  /** Of the workers, where they must outlast an outage. */
  readonly lease?: number
  readonly patience: number
}

/** How many events are published again in each wave: more than a worker that stood still could begin late. */
const AGAIN = WINDOW + 40

export type Blow = (workers: readonly ChildProcess[], wave: number) => Promise<void> | void

const one = (workers: readonly ChildProcess[]): ChildProcess =>
  workers[Math.floor(Math.random() * workers.length)]!

export const killOne: Blow = (workers) => void one(workers).kill('SIGKILL')

/** Longer than its leases: the others take over what it had, and then it goes on as if nothing had happened. */
export const stopOne: Blow = async (workers) => {
  const worker = one(workers)
  worker.kill('SIGSTOP')
  await systemClock.sleep(2 * LEASE)
  worker.kill('SIGCONT')
}

/** The machine's clock, which all of them go by, is set. */
export const setClocks =
  (by: (wave: number) => number): Blow =>
  (workers, wave) => {
    for (const worker of workers) worker.send({ jump: by(wave) })
  }

export interface PatternResult {
  readonly done: number
  readonly dead: number
  readonly missing: number
  /** What was wrong in the user's database, by what the pattern promises. */
  readonly wrong: readonly string[]
  /** How often an effect was made again though it had been made: only where a process died in between. */
  readonly repeated: number
  readonly deaths: number
  readonly seconds: number
}

/** Several workers, killed again and again; the count is by plain SQL, in the user's own tables and in the letters'. */
export const patternRun = async (options: PatternOptions): Promise<PatternResult> => {
  const { pattern, events } = options
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-patterns-'))
  const file = join(folder, 'store.db')
  const store = `sqlite:${file}`
  const transport = options.transport === 'sqlite' ? store : options.transport
  // effects within the transaction of Reprieve's own file are in that file
  const effectsFile = pattern === 'transaction' ? file : join(folder, 'effects.db')
  const type = `chaos.${pattern}.${process.pid}.${Date.now()}`
  const service = type.replaceAll('.', '-')
  const orders = { transport, store, effects: effectsFile, pattern, type, service }
  const began = Date.now()
  const workers: ChildProcess[] = []
  const started: ChildProcess[] = []
  const dooms = [...(options.dooms ?? [])]
  const trouble: string[] = []
  let deaths = 0

  const start = async (): Promise<void> => {
    const doom = dooms.shift()
    const { ledger, lease } = options
    const told: Orders = {
      ...orders,
      ...(ledger && { ledger }),
      ...(lease !== undefined && { lease }),
      ...(doom && { doom }),
    }
    const child = fork(join(import.meta.dirname, 'worker.ts'), [JSON.stringify(told)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    started.push(child)
    workers.push(child)
    const gone = once(child, 'exit').then(([code, signal]) => {
      workers.splice(workers.indexOf(child), 1)
      if (signal === 'SIGKILL') deaths++
      else if (code !== 0) trouble.push(`a worker ended with ${signal ?? code}`)
    })
    await Promise.race([once(child, 'message'), gone])
  }

  let effects: DatabaseSync | undefined
  try {
    const publisher = await reprieve({ transport, store, office: false })
    publisher.service(service).on(type, () => {})
    await publisher.start()
    await publisher.drain()
    effects = openEffects(effectsFile)
    if (pattern === 'state') manyOrders(effects, events)
    const ids: string[] = []
    const publish = async (until: number): Promise<void> => {
      while (ids.length < until) {
        const some = Array.from({ length: Math.min(200, until - ids.length) }, (_, i) => ids.length + i)
        ids.push(...(await Promise.all(some.map((n) => publisher.publish(type, { n })))))
      }
    }
    /** By a producer that is not sure: what is done already must be known. */
    const publishAgain = async (): Promise<void> => {
      const had = ids.slice(0, AGAIN).map((id, n) => ({ id, n }))
      await Promise.all(had.map(({ id, n }) => publisher.publish(type, { n }, { id })))
    }
    const end = began + options.patience
    const untilSeen = async (most: number): Promise<void> => {
      for (let progress = 0; progress < most && Date.now() < end; await systemClock.sleep(50)) {
        while (workers.length < options.workers) await start()
        const { done, dead } = count(effects!, file, pattern)
        progress = new Set([...done.keys(), ...dead]).size
      }
    }

    for (let wave = 1; wave <= options.waves; wave++) {
      const { length } = ids
      await publish(Math.round((events * wave) / options.waves))
      await untilSeen(length + (ids.length - length) * 0.3)
      await options.blow?.(workers, wave)
      if (pattern === 'dedup') await publishAgain()
    }
    await untilSeen(events)
    await publisher.close()
    await Promise.all(
      [...workers].map(async (worker) => {
        const gone = once(worker, 'exit')
        worker.kill('SIGTERM')
        await gone
      }),
    )
    const { done, dead } = count(effects, file, pattern)
    return {
      done: done.size,
      dead: dead.size,
      missing: ids.filter((id) => !done.has(id) && !dead.has(id)).length,
      wrong: [...trouble, ...strangers(ids, done, dead), ...wrongIn(effects, pattern, ids, done, dead)],
      repeated: [...done.values()].reduce((sum, times) => sum + times - 1, 0),
      deaths,
      seconds: Math.round((Date.now() - began) / 1000),
    }
  } finally {
    await endAll(started)
    effects?.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Counted {
  /** How often each event had its effect. */
  readonly done: ReadonlyMap<string, number>
  readonly dead: ReadonlySet<string>
}

const count = (effects: DatabaseSync, file: string, pattern: Pattern): Counted => {
  const table = pattern === 'transaction' ? 'effect' : 'calls'
  const rows = effects.prepare(`SELECT event, count(*) AS times FROM ${table} GROUP BY event`).all()
  const done = new Map(rows.map(({ event, times }) => [String(event), Number(times)]))
  const store = new DatabaseSync(file, { readOnly: true, timeout: 20_000 })
  try {
    const letters = store.prepare(LETTERS).all()
    return { done, dead: new Set(letters.map(({ id }) => String(id))) }
  } finally {
    store.close()
  }
}

const LETTERS = `
SELECT json_extract(CAST(envelope AS TEXT), '$.originalEventId') AS id FROM reprieve_envelope`

/** Nobody published these. */
const strangers = (
  ids: readonly string[],
  done: Counted['done'],
  dead: Counted['dead'],
): readonly string[] => {
  const known = new Set(ids)
  return [...done.keys(), ...dead].filter((id) => !known.has(id)).map((id) => `${id} was never published`)
}

/** What each pattern promises, checked in the user's tables. */
const wrongIn = (
  effects: DatabaseSync,
  pattern: Pattern,
  ids: readonly string[],
  done: Counted['done'],
  dead: Counted['dead'],
): readonly string[] => {
  const all = (sql: string) => effects.prepare(sql).all()
  if (pattern === 'transaction') {
    const twice = [...done].filter(([, times]) => times > 1).map(([id]) => `${id} had its effect twice`)
    const both = [...done.keys()].filter((id) => dead.has(id)).map((id) => `${id} is done and dead`)
    return [...twice, ...both]
  }
  if (pattern === 'dedup') {
    const again = all('SELECT event FROM again').map(({ event }) => `${event} ran again after it was done`)
    const keys = new Set(all('SELECT key FROM applied').map(({ key }) => String(key)))
    const unkeyed = [...done.keys()]
      .filter((id) => !keys.has(id))
      .map((id) => `${id} has no effect of its key`)
    const others = [...keys].filter((key) => !done.has(key)).map((key) => `an effect went under ${key}`)
    // one that stood still for longer than its leases may begin late what it had; what came again is more
    return [...(again.length > WINDOW ? again : []), ...unkeyed, ...others]
  }
  if (pattern === 'state') {
    const paid = new Map(
      all('SELECT n, count(*) AS times FROM payments GROUP BY n').map((row) => [row.n, row.times]),
    )
    const states = new Map(all('SELECT n, state FROM orders').map(({ n, state }) => [n, state]))
    return ids.flatMap((id, n) => {
      const [state, times] = done.has(id) ? ['paid', 1] : ['new', 0]
      const told = `${id} is ${states.get(n)} and was paid ${paid.get(n) ?? 0} times`
      return states.get(n) === state && (paid.get(n) ?? 0) === times ? [] : [told]
    })
  }
  const newest = new Map<string, number>()
  for (const [n, id] of ids.entries()) if (done.has(id)) newest.set(`key-${n % KEYS}`, n)
  const versions = new Map(
    all('SELECT key, version FROM profile').map((row) => [String(row.key), row.version]),
  )
  return [...new Set([...newest.keys(), ...versions.keys()])].flatMap((key) =>
    newest.get(key) === versions.get(key)
      ? []
      : [`${key} is at ${versions.get(key)}, not ${newest.get(key)}`],
  )
}
