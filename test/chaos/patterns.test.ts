import { describe, expect, it } from 'vitest'
import { describeWith } from '../services/urls.ts'
import { describeOwn, type OwnServer, ownPostgres, ownRedis } from '../stores/own-server.ts'
import { PATIENCE } from './patience.ts'
import type { Boundary } from './patterns/doom.ts'
import { PATTERNS, WINDOW } from './patterns/effects.ts'
import { killOne, type PatternOptions, patternRun, setClocks, stopOne } from './patterns/run.ts'

/** Longer than a busy machine alone keeps a worker still: what others took over meanwhile it would begin once more. */
const CALM = 5000
const survives = async (options: Omit<PatternOptions, 'patience'>) => {
  const result = await patternRun({ ...options, patience: PATIENCE })
  console.log(`${options.pattern} on ${options.transport.split(':')[0]}: ${JSON.stringify(result)}`)
  expect(result.missing).toBe(0)
  expect(result.wrong).toEqual([])
  expect(result.done).toBeGreaterThan(options.events * 0.9)
  return result
}

describe('three workers, one killed again and again', () => {
  it.each(PATTERNS)('keep what %s promises', async (pattern) => {
    const waves = 4
    const result = await survives({
      pattern,
      lease: CALM,
      transport: 'sqlite',
      events: 2500,
      workers: 3,
      waves,
      blow: killOne,
    })
    expect(result.deaths).toBe(waves)
    expect(result.dead).toBeGreaterThan(0)
    expect(result.repeated).toBeLessThanOrEqual(pattern === 'transaction' ? 0 : waves * WINDOW)
  })
})

const COMMITS: readonly Boundary[] = ['before commit', 'after commit']
const CHANNEL: readonly Boundary[] = ['before ack', 'after ack', 'before confirm', 'after confirm']

/** Some die soon, some in the midst of it. */
const eachAt = (boundaries: readonly Boundary[], passes: readonly number[]) =>
  boundaries.flatMap((at) => passes.map((after) => ({ at, after })))

describe('workers that die where something becomes durable', () => {
  it.each(PATTERNS)('lose and double nothing before and after commits of SQLite, by %s', async (pattern) => {
    const dooms = eachAt(COMMITS, [1, 9])
    const options = { pattern, transport: 'sqlite', events: 400, workers: 2 } as const
    const { deaths, repeated } = await survives({ ...options, waves: 3, dooms })
    expect(deaths).toBe(dooms.length)
    expect(repeated).toBeLessThanOrEqual(pattern === 'transaction' ? 0 : deaths * WINDOW)
  })
})

describeWith(
  'amqp',
  'workers beside a real RabbitMQ that die where something becomes durable',
  (transport) => {
    it('lose and double nothing: commits, acks and confirms', async () => {
      const dooms = eachAt([...COMMITS, ...CHANNEL], [5])
      const { deaths } = await survives({
        pattern: 'dedup',
        transport,
        events: 3000,
        workers: 2,
        waves: 1,
        dooms,
      })
      expect(deaths).toBe(dooms.length)
    })
  },
)

describe('a worker that is stopped for longer than its leases', () => {
  it('changes nothing when it wakes: what it had is done by others, and once', async () => {
    await survives({
      pattern: 'transaction',
      transport: 'sqlite',
      events: 1500,
      workers: 2,
      waves: 2,
      blow: stopOne,
    })
  })
})

const AN_HOUR = 60 * 60_000

describe('a clock that is set', () => {
  it('an hour ahead, and a little back: nothing is lost, and nothing done twice', async () => {
    await survives({
      pattern: 'transaction',
      transport: 'sqlite',
      events: 2000,
      workers: 2,
      waves: 3,
      blow: setClocks((wave) => (wave === 2 ? -5000 : AN_HOUR)),
    })
  })
})

const OUTAGE = 1500
/** Nobody dies: whoever can't renew its claims meanwhile must keep them, however long a server takes to come back. */
const OUTLASTING = 30_000

const servers = { redis: ownRedis, postgres: ownPostgres } as const

for (const store of ['redis', 'postgres'] as const) {
  describeOwn(store, `a ledger on ${store} that is killed and comes back`, () => {
    it('stops the work, and loses and doubles nothing', async () => {
      const server: OwnServer = await servers[store]()
      try {
        const { repeated } = await survives({
          pattern: 'dedup',
          transport: 'sqlite',
          ledger: { store, url: server.url },
          lease: OUTLASTING,
          events: 1500,
          workers: 2,
          waves: 2,
          blow: async () => {
            await server.kill()
            await new Promise((resolve) => setTimeout(resolve, OUTAGE))
            await server.start()
          },
        })
        // nobody died: whoever had its effect waited until that could be remembered
        expect(repeated).toBe(0)
      } finally {
        await server.close()
      }
    })
  })
}
