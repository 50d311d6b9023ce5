import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { reprieve } from '../../src/index.ts'

const EVENTS = 2000
const KILLS = 5
/** What may be out when a worker is killed: its window, five workers with twenty each. */
const MOST_DOUBLED = KILLS * 5 * 20

it('a worker killed in the middle of a batch loses no event on SQLite, and doubles none but those it had begun', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-batch-chaos-'))
  const transport = `sqlite:${join(folder, 'app.db')}`
  const workers: ChildProcess[] = []
  onTestFinished(async () => {
    for (const worker of workers) {
      if (worker.exitCode !== null || worker.signalCode !== null) continue
      const gone = once(worker, 'exit')
      worker.kill('SIGKILL')
      await gone
    }
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

  let worker = await start()
  const publisher = await reprieve({ transport, office: false })
  const ids = Array.from({ length: EVENTS }, (_, n) => `e${n}`)
  const event = { source: 'test', type: 'chaos.batch', extensions: {}, headers: {}, data: null }
  await publisher.publishEvents(ids.map((id) => ({ id, ...event })))

  let inBatch = 0
  for (let kill = 1; kill <= KILLS; kill++) {
    // so far on, then at the half of the next batch that is one
    const from = (EVENTS * kill) / (KILLS + 2)
    for (;;) {
      const [said] = (await once(worker, 'message')) as [string]
      const size = Number(said.split(' ')[1])
      if (size < 2 || new Set(effects()).size < from) continue
      inBatch += size
      break
    }
    const gone = once(worker, 'exit')
    worker.kill('SIGKILL')
    await gone
    worker = await start()
  }

  const end = Date.now() + 60_000
  const waiting = async () => new Set(effects()).size < EVENTS
  while ((await waiting()) && Date.now() < end) await systemClock.sleep(100)
  // what was done is not done again once it is known to be: nothing is left on its way
  await systemClock.sleep(3000)
  await publisher.close()
  const done = effects()
  const doubled = done.length - new Set(done).size
  console.log(`batches under SIGKILL: ${JSON.stringify({ events: EVENTS, kills: KILLS, inBatch, doubled })}`)
  expect(ids.filter((id) => !new Set(done).has(id))).toEqual([])
  expect(inBatch).toBeGreaterThan(KILLS)
  expect(doubled).toBeLessThanOrEqual(MOST_DOUBLED)
}, 120_000)
