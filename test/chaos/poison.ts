import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fact } from '../../src/contracts/journal.ts'
import { type Reprieve, reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { until } from '../until.ts'

export const SLOTS = 40
export const GOOD = 2000
/** Fail as often as they are tried. */
export const BAD = 12

export interface Rounds {
  /** How often all slots were full, and all of them were let go, until the last good event was done. */
  readonly rounds: number
  /** Tries of bad ones among the good. */
  readonly bad: number
  /** Retries among those. */
  readonly retried: number
}

const BOOK = `version: 1
policies:
  hurried: { backoff: exponential, initial: 100ms, multiplier: 1.5, max: 1s, jitter: none, retries: 5, window: 5m }
defaults: { policy: hurried, concurrency: ${SLOTS}, window: 200, timeout: 2m }
`
/** Long enough for retries to come due while good ones are still waiting, however fast the machine is. */
const WORK = 20
/** Where no retry has come by half of the good ones, because broker or machine are slow: the rest gives them time. */
const LONG_WORK = 400

type Kind = 'good' | 'bad' | 'hung'

/**
 * What poison in front takes from the others, counted and not timed. Nobody's handler ends before every slot has one in it, or
 * every good event that is left: so the number of rounds is the number of slots that were taken, by whom ever. Where
 * something that waits for its next try kept a slot, they would never be full, and it would stand still.
 */
export const roundsBehind = async (transport: string, poisoned: boolean): Promise<Rounds> => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-poison-'))
  const name = `poison-${randomUUID().slice(0, 8)}`
  const rules = readRules(BOOK, 'reprieve.yaml', {})
  let dead = 0
  const journal = (fact: Fact): void => {
    if (fact.is === 'dead') dead++
  }
  const store = `sqlite:${join(folder, 'store.db')}`
  const open = () => reprieve({ rules, transport, store, office: false, journal })
  const kinds: readonly Kind[] = [
    ...(poisoned ? ['hung' as const, ...Array.from({ length: BAD }, () => 'bad' as const)] : []),
    ...Array.from({ length: GOOD }, () => 'good' as const),
  ]
  try {
    await fill(await open(), name, kinds)
    const turnstile = new Turnstile(poisoned ? SLOTS - 1 : SLOTS)
    const released = new AbortController()
    const app = await open()
    let [bad, retried] = [0, 0]
    app.service(name).on(name, async (event, { attempt }) => {
      const { kind } = event.data as { kind: Kind }
      if (kind === 'hung')
        return new Promise<void>((resolve) => released.signal.addEventListener('abort', () => resolve()))
      if (kind === 'bad' && turnstile.left > 0) {
        bad++
        if (attempt > 1) retried++
      }
      await sleep(poisoned && retried === 0 && turnstile.left < GOOD / 2 ? LONG_WORK : WORK)
      await turnstile.pass(kind === 'good')
      if (kind === 'bad') throw new TypeError('nobody can read this')
    })
    try {
      await app.start()
      await until('the last good event', () => turnstile.left === 0)
      const { rounds } = turnstile
      if (poisoned) await until('the end of the bad ones', () => dead === BAD)
      return { rounds, bad, retried }
    } finally {
      released.abort()
      await app.close(5_000)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The subscription is made by a first start: what is published then lies there until the second, poison in front. */
const fill = async (app: Reprieve, name: string, kinds: readonly Kind[]): Promise<void> => {
  app.service(name).on(name, () => {})
  await app.start()
  await app.drain()
  await app.publishEvents(
    kinds.map((kind, n) => ({
      id: `${name}-${n}`,
      source: 'poison',
      type: name,
      extensions: {},
      headers: {},
      datacontenttype: 'application/json',
      data: Buffer.from(JSON.stringify({ kind })),
    })),
  )
  await app.close()
}

/** Lets everybody through at once, as soon as all places are taken or none of the good is missing any more. */
class Turnstile {
  left = GOOD
  rounds = 0
  private waiting: { good: boolean; go: () => void }[] = []
  private readonly places: number

  constructor(places: number) {
    this.places = places
  }

  pass(good: boolean): Promise<void> {
    if (this.left === 0) return Promise.resolve()
    return new Promise((go) => {
      this.waiting.push({ good, go })
      const goodHere = this.waiting.filter((each) => each.good).length
      if (this.waiting.length < this.places && goodHere < this.left) return
      const through = this.waiting.splice(0)
      this.rounds++
      this.left -= goodHere
      for (const each of through) each.go()
    })
  }
}
