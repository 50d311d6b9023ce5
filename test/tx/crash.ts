import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { sweep } from './sweep.ts'
import type { Boundary, WorkerOptions } from './worker.ts'

export interface TxCrashOptions {
  /** `sqlite`: the store's own file. */
  readonly transport: string
  readonly postgres?: string
  readonly events: number
  /** A worker dies at each, one after another; then two others do the rest. */
  readonly boundaries: readonly Boundary[]
  readonly patience: number
}

export interface TxCrashResult {
  /** Rows in the user's tables, and how many different ones. */
  readonly effects: readonly [rows: number, different: number]
  readonly received: readonly [rows: number, different: number]
  /** Events that wait to be relayed. */
  readonly left: number
  readonly deaths: readonly (NodeJS.Signals | null)[]
}

const leftIn = (file: string): number => {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  try {
    const there = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'reprieve_outbox'").get()
    return there ? Number(database.prepare('SELECT count(*) AS n FROM reprieve_outbox').get()!.n) : 0
  } finally {
    database.close()
  }
}

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url))

/** Counts from outside, by plain clients: what is in the user's tables in the end. */
export const txCrash = async (options: TxCrashOptions): Promise<TxCrashResult> => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-tx-'))
  const file = join(folder, 'store.db')
  const store = `sqlite:${file}`
  const transport = options.transport === 'sqlite' ? store : options.transport
  const name = `tx${process.pid}${randomBytes(4).toString('hex')}`
  const schema = `test_${name}`
  const { postgres } = options
  const pool = postgres === undefined ? undefined : new pg.Pool({ connectionString: postgres, max: 2 })
  const children: ChildProcess[] = []

  const start = async (dieAt?: Boundary, nth = 0): Promise<ChildProcess> => {
    const told: WorkerOptions = {
      ...{ transport, store, schema, name, nth },
      ...(postgres !== undefined && { postgres }),
      ...(dieAt && { dieAt }),
    }
    const child = fork(WORKER, [JSON.stringify(told)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    children.push(child)
    await Promise.race([once(child, 'message'), once(child, 'exit')])
    return child
  }

  const count = async (table: string): Promise<readonly [number, number]> => {
    const text = `SELECT count(*) AS rows, count(DISTINCT id) AS different FROM`
    if (pool) {
      const { rows } = await pool.query(`${text} ${schema}.${table}`)
      return [Number(rows[0].rows), Number(rows[0].different)]
    }
    if (!existsSync(file)) return [0, 0]
    const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
    try {
      if (!database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(table)) return [0, 0]
      const row = database.prepare(`${text} ${table}`).get()!
      return [Number(row.rows), Number(row.different)]
    } finally {
      database.close()
    }
  }

  const leftOver = async (): Promise<number> =>
    pool ? Number((await pool.query(`SELECT count(*) FROM ${schema}.outbox`)).rows[0].count) : leftIn(file)

  try {
    await pool?.query(
      `CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.effects (id text); CREATE TABLE ${schema}.received (id text)`,
    )
    // once, so that the subscriptions are there
    const first = await start()
    const ended = once(first, 'exit')
    first.kill('SIGTERM')
    await ended
    const publisher = await reprieve({
      transport,
      store,
      office: false,
      rules: readRules('version: 1', 'test.yaml'),
    })
    await Promise.all(
      Array.from({ length: options.events }, (_, n) => publisher.publish(`${name}.order`, { n })),
    )
    await publisher.close()

    const deaths: (NodeJS.Signals | null)[] = []
    for (const [i, which] of options.boundaries.entries()) {
      const mortal = await start(which, which === 'after publish' ? 1 : 3 + (i % 5))
      if (mortal.exitCode === null && mortal.signalCode === null) await once(mortal, 'exit')
      deaths.push(mortal.signalCode)
    }
    // two, racing for what is left
    await Promise.all([start(), start()])
    const end = Date.now() + options.patience
    const through = async () =>
      (await count('effects'))[1] >= options.events && (await count('received'))[1] >= options.events
    while (!(await through()) && Date.now() < end) await systemClock.sleep(100)
    // what a relay died with is published again when its lease is over, and must change nothing
    while ((await leftOver()) > 0 && Date.now() < end) await systemClock.sleep(100)
    await systemClock.sleep(3000)
    const left = await leftOver()
    return { effects: await count('effects'), received: await count('received'), left, deaths }
  } finally {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }
    await sweep(transport, [
      [`${name}-orders`, `${name}.order`],
      [`${name}-sink`, `${name}.paid`],
    ])
    await pool?.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await pool?.end()
    rmSync(folder, { recursive: true, force: true })
  }
}
