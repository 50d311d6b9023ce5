import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { open as openSqlite } from '../../src/adapters/sqlite/index.ts'
import { createOffice } from '../../src/office/index.ts'
import { freshFile } from '../embedded/file.ts'
import type { Probe } from '../harness.ts'
import { lettersFrom, serviceOf, TYPE, tools } from './letters.ts'

const GROWTH = 'times as large'
const GULP = 100

/** What is still in memory of letters that were kept, when there are a hundred times as many. */
export const memoryProbe: Probe = {
  name: 'the heap after keeping 100 times as many letters',
  limits: { [GROWTH]: 1.2 },
  run: async (events) => {
    const { url, clear } = freshFile()
    const { transport, store } = await openSqlite(url, tools)
    const few = Math.max(GULP, Math.ceil(events * 0.01))
    const keepTo = async (from: number, to: number): Promise<number> => {
      for (let at = from; at < to; at += GULP) await store.letters.keep(lettersFrom(at, GULP))
      return heapAfterGc()
    }
    const early = await keepTo(0, few)
    const late = await keepTo(few, few * 100)
    await transport.close()
    await store.close()
    clear()
    return { [GROWTH]: Number((late / early).toFixed(3)) }
  },
}

const MORE = 10

/** And of those that were replayed. */
export const replayMemoryProbe: Probe = {
  name: `the heap after replaying ${MORE} times as many letters`,
  limits: { [GROWTH]: 1.2 },
  run: async (events) => {
    const { url, clear } = freshFile()
    const { transport, store } = await openSqlite(url, tools)
    const address = { service: serviceOf(0), topic: TYPE, consumerGroup: serviceOf(0) }
    const inlet = await transport.subscribe({
      ...{ ...address, types: [TYPE], order: 'none', destinations: [], lease: 60_000, window: 100 },
    })
    const office = await createOffice({ transport, store, tools })
    const few = Math.max(GULP, Math.ceil(events * 0.01))
    const replayTo = async (from: number, to: number): Promise<number> => {
      for (let at = from; at < to; at += GULP) await store.letters.keep(lettersFrom(at, GULP, 0))
      const { operation } = await office.operations.plan({ states: ['open'] }, { canary: 0 })
      await office.operations.start(operation.id)
      const { counts } = await office.operations.work(operation.id)
      if (counts.sent !== to - from) throw new Error(`${counts.sent} were sent, not ${to - from}`)
      return heapAfterGc()
    }
    const early = await replayTo(0, few)
    const late = await replayTo(few, few * (MORE + 1))
    await office.close()
    await inlet.close()
    await transport.close()
    await store.close()
    clear()
    return { [GROWTH]: Number((late / early).toFixed(3)) }
  },
}

const heapAfterGc = (): number => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  gc()
  return process.memoryUsage().heapUsed
}
