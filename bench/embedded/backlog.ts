import { cpSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { reprieve } from '../../src/reprieve.ts'
import type { Contender, Heat, Probe } from '../harness.ts'
import { eventOf, orderOf } from '../load.ts'
import { bookOf, watch } from '../ours.ts'
import { freshFile } from './file.ts'
import { TYPE } from './raw.ts'

const SERVICE = 'billing'
const GULP = 1000

/** Files with so many events waiting, filled once: a heat works on a copy. */
const filled = new Map<number, ReturnType<typeof freshFile>>()

const fileWith = async (waiting: number, rules: object): Promise<ReturnType<typeof freshFile>> => {
  const known = filled.get(waiting)
  if (known) return known
  const file = freshFile()
  const app = await reprieve({ transport: file.url, rules: bookOf({ ...rules }, SERVICE), office: false })
  app.service(SERVICE).on(TYPE, () => {})
  await app.start()
  await app.drain()
  for (let from = 0; from < waiting; from += GULP) {
    const some = Array.from({ length: Math.min(GULP, waiting - from) }, (_, i) => orderOf(from + i))
    await app.publishEvents(some.map((order) => eventOf(TYPE, order)))
  }
  await app.close()
  filled.set(waiting, file)
  process.once('exit', file.clear)
  return file
}

const consuming = async (waiting: number, rules: object) => {
  const source = await fileWith(waiting, rules)
  const copy = freshFile()
  cpSync(source.path, copy.path)
  const watched = watch()
  const app = await reprieve({
    transport: copy.url,
    rules: bookOf({ ...rules }, SERVICE),
    journal: watched.journal,
  })
  app.service(SERVICE).on(TYPE, async () => {})
  return { app, watched, copy }
}

/** As many events are handled by each contender: what differs is how many more wait behind them. */
export const withBacklog = (name: string, times: number, rules: object, aim?: number): Contender => ({
  name,
  ...(aim !== undefined && { aim, aimsAtCpu: true }),
  prepare: async (events): Promise<Heat> => {
    const { app, watched, copy } = await consuming(events * times, rules)
    return {
      run: async () => {
        await app.start()
        await watched.until(events)
        return { events }
      },
      close: async () => {
        await app.close()
        copy.clear()
      },
    }
  },
})

/** What is still in memory when a process has seen a hundred times as much. */
export const heapProbe = (few: number, many: number, limit: number, rules: object): Probe => ({
  name: `the heap after ${many / few} times as many events`,
  limits: { [GROWTH]: limit },
  run: async (events) => {
    const { app, watched, copy } = await consuming(events * many, rules)
    await app.start()
    await watched.until(Math.ceil(events * few))
    const early = heapAfterGc()
    await watched.until(events * many)
    const late = heapAfterGc()
    await app.close()
    copy.clear()
    return { [GROWTH]: Number((late / early).toFixed(3)) }
  },
})

const GROWTH = 'times as large'

const heapAfterGc = (): number => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  gc()
  return process.memoryUsage().heapUsed
}
