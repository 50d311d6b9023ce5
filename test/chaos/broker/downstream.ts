import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** As the rules of both storms say: what opens its breaker, for how long, and how many calls a worker has out at once. */
const BREAKER = { failures: 5, open: 1_000 }
const AT_ONCE = 2

/** A dependency that is down at first, and counts itself how often it is called while it is. */
export interface Downstream {
  readonly url: string
  readonly isDown: boolean
  restore(): void
  /** I8: calls while it was down, and how many these are at most that opened its breaker or probed it, with so many workers started. */
  tally(workers: number): Called
  close(): Promise<void>
}

export interface Called {
  readonly calls: number
  readonly granted: number
}

export const openDownstream = async (): Promise<Downstream> => {
  let calls = 0
  let first = 0
  let restored: number | undefined
  const server = createServer((_, answer) => {
    if (restored === undefined) {
      calls++
      first ||= Date.now()
    }
    answer.statusCode = restored === undefined ? 503 : 200
    answer.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get isDown() {
      return restored === undefined
    },
    restore: () => {
      restored ??= Date.now()
    },
    tally: (workers) => {
      const down = (restored ?? Date.now()) - (first || Date.now())
      const probes = Math.ceil(down / BREAKER.open) + workers
      return { calls, granted: workers * (BREAKER.failures + AT_ONCE) + probes }
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** One call by a worker. */
export const callDownstream = async (url: string, signal: AbortSignal): Promise<void> => {
  const { status } = await fetch(url, { signal })
  if (status !== 200) throw Object.assign(new Error(`it said ${status}`), { status })
}
