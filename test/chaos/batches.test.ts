import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { reprieve } from '../../src/index.ts'
import { PATIENCE } from './patience.ts'

/** Workers with a batch handler on one file, and their effects, which nobody in Reprieve knows of. */
const stage = () => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-batch-chaos-'))
  const transport = `sqlite:${join(folder, 'app.db')}`
  const workers: ChildProcess[] = []
  const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null
  const kill = async (worker: ChildProcess): Promise<void> => {
    if (hasEnded(worker)) return
    const gone = once(worker, 'exit')
    worker.kill('SIGKILL')
    await gone
  }
  onTestFinished(async () => {
    for (const worker of workers) await kill(worker)
    rmSync(folder, { recursive: true, force: true })
  })
  const start = async (): Promise<ChildProcess> => {
    const script = fileURLToPath(new URL('batch-worker.ts', import.meta.url))
    const worker = fork(script, [transport, join(folder, `effects-${workers.length}`)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    workers.push(worker)
    await once(worker, 'message')
    return worker
  }
  const effects = () =>
    workers.flatMap((_, n) => {
      const file = join(folder, `effects-${n}`)
      return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
    })
  return { transport, start, kill, effects, hasEnded }
}

const eventsOf = (ids: readonly string[]) =>
  ids.map((id) => ({ id, source: 'test', type: 'chaos.batch', extensions: {}, headers: {}, data: null }))

const until = async (look: () => Promise<boolean> | boolean, within = PATIENCE): Promise<void> => {
  const end = Date.now() + within
  while (!(await look()) && Date.now() < end) await systemClock.sleep(100)
}

const EVENTS = 1500
const KILLS = 4
/** A part for each that is killed, and one for who does the rest. */
const PART = EVENTS / (KILLS + 1)
/** What may be out when a worker is killed: its window, five workers with twenty each. */
const MOST_DOUBLED = KILLS * 5 * 20

describe('a worker with a batch handler on SQLite', () => {
  it('killed in the middle of a batch loses no event, and doubles none but those it had begun', async () => {
    const { transport, start, kill, effects } = stage()
    let worker = await start()
    const publisher = await reprieve({ transport, office: false })
    const ids = Array.from({ length: EVENTS }, (_, n) => `e${n}`)
    const publish = (nth: number) =>
      publisher.publishEvents(eventsOf(ids.slice(nth * PART, (nth + 1) * PART)))
    /** So far on, then at the half of the next batch that is one. Answers how large that was. */
    const killedInBatch = (victim: ChildProcess, from: number): Promise<number> =>
      new Promise((resolve) => {
        const hear = (said: unknown) => {
          const size = Number(String(said).split(' ')[1])
          if (size < 2 || new Set(effects()).size < from) return
          victim.off('message', hear)
          resolve(kill(victim).then(() => size))
        }
        victim.on('message', hear)
      })

    let inBatch = 0
    for (let nth = 0; nth < KILLS; nth++) {
      // heard before there is anything to do, and there is no more than its part: else it might be through with all, unheard
      const killed = killedInBatch(worker, nth * PART + PART / 3)
      await publish(nth)
      inBatch += await killed
      worker = await start()
    }
    await publish(KILLS)
    await until(() => new Set(effects()).size >= EVENTS)
    // what was done is not done again once it is known to be: nothing is left on its way
    await systemClock.sleep(3000)
    await publisher.close()
    const done = effects()
    const doubled = done.length - new Set(done).size
    console.log(
      `batches under SIGKILL: ${JSON.stringify({ events: EVENTS, kills: KILLS, inBatch, doubled })}`,
    )
    expect(ids.filter((id) => !new Set(done).has(id))).toEqual([])
    expect(inBatch).toBeGreaterThan(KILLS)
    expect(doubled).toBeLessThanOrEqual(MOST_DOUBLED)
  })

  it('that one event of a batch kills is killed three times: only that one is quarantined', async () => {
    const { transport, start, effects, hasEnded } = stage()
    let worker = await start()
    const office = await reprieve({ transport })
    const ids = Array.from({ length: 200 }, (_, n) => (n === 90 ? 'killer' : `e${n}`))
    await office.publishEvents(eventsOf(ids))
    let deaths = 0
    await until(async () => {
      if (hasEnded(worker)) {
        deaths++
        worker = await start()
      }
      return new Set(effects()).size === 199 && (await office.office.count({})) === 1
    })
    const letters = await office.office.list({}, 10)
    await office.close()
    console.log(`a killer among 200 in batches: ${JSON.stringify({ deaths })}`)
    expect(letters.map(({ letter }) => [letter.event.id, letter.reason, letter.kind])).toEqual([
      ['killer', 'poison', 'crash'],
    ])
    expect(new Set(effects()).size).toBe(199)
    expect(deaths).toBeLessThanOrEqual(3)
  })
})
