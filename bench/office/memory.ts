import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { open as openSqlite } from '../../src/adapters/sqlite/index.ts'
import { freshFile } from '../embedded/file.ts'
import type { Probe } from '../harness.ts'
import { lettersFrom, tools } from './letters.ts'

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

const heapAfterGc = (): number => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  gc()
  return process.memoryUsage().heapUsed
}
