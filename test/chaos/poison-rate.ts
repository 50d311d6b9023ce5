import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'amqplib'
import { reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { type Heats, isDecided, median } from './fair.ts'

export interface PoisonOptions extends Heats {
  readonly transport: string
  /** The good ones of each heat. */
  readonly events: number
  /** How many lie in front of them in every second heat, and fail as often as they are tried. */
  readonly poison: number
}

export interface PoisonResult {
  /** Good events a second, medians. */
  readonly without: number
  readonly with: number
  readonly ratio: number
  readonly heats: readonly { readonly without: number; readonly with: number }[]
}

const BOOK = `version: 1
policies:
  steady: { backoff: exponential, initial: 200ms, multiplier: 2, max: 2s, jitter: half, retries: 6, window: 10m }
defaults: { policy: steady, concurrency: 20, window: 60 }
`
/** What a handler waits for somebody else: without that a rate would only tell how fast the machine is. */
const WORK = 30

/** I7 as a figure: with poison in front of the queue the others are done at the same rate. Heats of both kinds take turns. */
export const poisonRate = async (options: PoisonOptions): Promise<PoisonResult> => {
  const heats = []
  await heat(options, 0) // nobody is counted before everything was loaded and compiled
  for (;;) {
    heats.push({ without: await heat(options, 0), with: await heat(options, options.poison) })
    const without = median(heats.map((each) => each.without))
    const poisoned = median(heats.map((each) => each.with))
    const ratio = poisoned / without
    if (isDecided(heats.length, ratio, options)) return { without, with: poisoned, ratio, heats }
  }
}

const heat = async ({ transport, events }: PoisonOptions, poison: number): Promise<number> => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-poison-'))
  const name = `poison-${process.pid}-${Date.now()}`
  const rules = readRules(BOOK, 'reprieve.yaml', {})
  const app = await reprieve({ rules, transport, store: `sqlite:${join(folder, 'store.db')}`, office: false })
  let good = 0
  const { promise: all, resolve } = Promise.withResolvers<void>()
  app.service(name).on(name, () => {})
  try {
    // the queue is made by a first start; what is published then lies there until the second
    await app.start()
    await app.drain()
    const made = Array.from({ length: poison + events }, (_, n) => ({
      id: `${name}-${n}`,
      source: 'poison',
      type: name,
      extensions: {},
      headers: {},
      datacontenttype: 'application/json',
      data: Buffer.from(JSON.stringify({ bad: n < poison })),
    }))
    await app.publishEvents(made)
    await app.close()
    const second = await reprieve({
      rules,
      transport,
      store: `sqlite:${join(folder, 'store.db')}`,
      office: false,
    })
    second.service(name).on(name, async (event: { data: { bad: boolean } }) => {
      await sleep(WORK)
      if (event.data.bad) throw new TypeError('nobody can read this')
      if (++good === events) resolve()
    })
    const began = performance.now()
    await second.start()
    await all
    const rate = events / ((performance.now() - began) / 1000)
    const destinations = second.destinations().map((each) => each.name)
    await second.close()
    await clear(transport, name, destinations)
    return rate
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const clear = async (url: string, name: string, destinations: readonly string[]): Promise<void> => {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  for (const queue of [`${name}.${name}`, ...destinations]) await channel.deleteQueue(queue)
  await channel.deleteExchange(`${name}.${name}.dlx`)
  await connection.close()
}
