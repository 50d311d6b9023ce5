import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { reprieve } from '../../src/index.ts'
import { until } from '../until.ts'
import { endAll } from './ended.ts'

const WORKER = join(import.meta.dirname, 'stalled-worker.ts')
/** One more than the deaths after which an event is quarantined. */
const STALLS = 4

describe('an event whose workers stand still, one after another, for longer than their leases', () => {
  // most of the time they wait for leases: side by side
  it.concurrent.for(['dedup', 'transaction'])('is not to blame: %s', async (pattern, { onTestFinished }) => {
    const folder = mkdtempSync(join(tmpdir(), 'reprieve-stalled-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const file = join(folder, 'app.db')
    const transport = `sqlite:${file}`
    // who was stopped within a commit goes on long before its lease is over
    const database = new DatabaseSync(file, { timeout: 500 })
    onTestFinished(() => database.close())
    database.exec('PRAGMA journal_mode = WAL; CREATE TABLE effects (id TEXT)')
    const said: { readonly by: ChildProcess; readonly word: unknown }[] = []
    const all = (what: string) => said.filter(({ word }) => word === what)
    const workers = [1, 2, 3].map(() => {
      const child = fork(WORKER, [transport, pattern], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
      child.on('message', (word) => {
        // who had it before has lost it: it is let go, and hears of that when it wakes
        const before = all('begun').at(-1)?.by
        if (word === 'begun' && before !== child) before?.send('go')
        said.push({ by: child, word })
      })
      return child
    })
    onTestFinished(() => endAll(workers))
    await until('three workers', () => all('ready').length === 3)
    const publisher = await reprieve({ transport, office: false })
    const id = await publisher.publish('slow.asked', {})
    await publisher.close()
    const crashes = () =>
      database.prepare('SELECT crashes FROM reprieve_ledger WHERE id = ?').get(id)?.crashes
    /** Not within a commit: nobody else could write. */
    const stands = (child: ChildProcess): boolean => {
      child.kill('SIGSTOP')
      try {
        database.exec('BEGIN IMMEDIATE; ROLLBACK')
        return true
      } catch {
        child.kill('SIGCONT')
        return false
      }
    }

    await until('a worker to begin it', () => all('begun').length > 0)
    for (let stall = 1; stall <= STALLS; stall++) {
      // a busy machine may keep one still for as long by itself: then there is a stall more, and all holds as well
      const { length: begun } = all('begun')
      const { by: holder } = all('begun').at(-1)!
      await until('it to stand still', () => stands(holder))
      await until(`another to take it over, stall ${stall}`, () => all('begun').length > begun)
      const { length: told } = all('lost')
      holder.kill('SIGCONT')
      await until('its holder to find that it was lost', () =>
        all('lost')
          .slice(told)
          .some(({ by }) => by === holder),
      )
      await until('it to be beyond suspicion', () => crashes() === 0)
    }
    all('begun').at(-1)!.by.send('go')
    await until('its end', () => all('done').length > 0)
    expect(all('dead')).toEqual([])
    expect(all('begun').length).toBeGreaterThan(STALLS)
    expect(all('done')).toHaveLength(1)
    const effects = pattern === 'transaction' ? 1 : 0
    expect(database.prepare('SELECT count(*) AS n FROM effects').get()).toEqual({ n: effects })
  })
})
