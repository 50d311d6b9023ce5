import { setTimeout as sleep } from 'node:timers/promises'
import { reprieve } from '../src/reprieve.ts'
import type { Contender, Heat, Race } from './harness.ts'
import { counter, eventOf, type Order } from './load.ts'
import { fill, type Ground, type Ours, openSubscribed, watch } from './ours.ts'

/** What is left to the others of their rate. */
const AIM = 0.9
/** What a handler waits for somebody else: without it a rate would tell of the machine, and not of who is in whose way. */
const WORK = 20
/** Fail as often as they are tried; one more never ends. */
const BAD = 20

const rules = {
  concurrency: 50,
  window: 200,
  timeout: '2m',
  policy: { backoff: 'exponential', initial: '100ms', multiplier: 2, max: '1s', jitter: 'half', retries: 5 },
}

interface Poison extends Order {
  readonly poison?: 'bad' | 'hung'
}

/** The same app with and without poison in front of its events. Only the others are counted, and only they are timed. */
export const poisonRace = (ground: () => Promise<Ground>): Race => ({
  name: 'behind poison',
  share: 0.06,
  contenders: [
    behind([], { name: 'reprieve, nobody in front', rules, ground }),
    behind(['hung', ...Array.from({ length: BAD }, () => 'bad' as const)], {
      name: 'reprieve',
      aim: AIM,
      rules,
      ground,
    }),
  ],
})

const behind = (front: readonly Poison['poison'][], ours: Ours): Contender => ({
  ...ours,
  prepare: async (events): Promise<Heat> => {
    const { first, ground, options, rules, names } = await openSubscribed(ours)
    const { service, type } = names
    const order = { number: -1, customer: '', lines: [], note: '' }
    if (front.length > 0)
      await first.publishEvents(front.map((poison) => eventOf(type, { ...order, poison } as Poison)))
    await fill(first, type, events)
    await first.close()
    const watched = watch(['failed', 'retry', 'dead', 'letter kept', 'alert raised', 'job'])
    const seen = counter(events)
    const ended = new AbortController()
    const app = await reprieve({ ...options, rules, journal: watched.journal })
    app.service(service).on(type, async ({ data }: { data: Poison }) => {
      if (data.poison === 'hung')
        return new Promise<void>((resolve) => ended.signal.addEventListener('abort', () => resolve()))
      await sleep(WORK)
      if (data.poison === 'bad') throw new TypeError('nobody can read this')
      await seen.handle(data)
    })
    let started: Promise<void> | undefined
    return {
      run: async (lead) => {
        seen.tell(lead)
        started = app.start()
        await Promise.race([watched.until(events), started.then(() => new Promise<never>(() => {}))])
        return { events: seen.seen() }
      },
      close: async () => {
        ended.abort()
        await started
        await app.close()
        await ground.close(names)
      },
    }
  },
})
