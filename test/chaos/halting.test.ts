import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect } from 'amqplib'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import type { Transport } from '../../src/contracts/transport.ts'
import { type Fact, Permanent, reprieve } from '../../src/index.ts'
import { createAuditing, createOffice } from '../../src/office/index.ts'
import { openAppStore } from '../../src/open.ts'
import { readRules } from '../../src/rules/index.ts'
import { sweep } from '../rabbitmq/sweep.ts'
import { folderWith, startNode } from '../scenarios/child.ts'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { until } from '../until.ts'
import type { World } from './halting.ts'

const WORKER = fileURLToPath(new URL('./halting-worker.ts', import.meta.url))
const BOOK = 'version: 1\noperations: { approval: always }\n'
/** Letters of each world: one canary, and a batch behind it. */
const COUNT = 3
/** More steps than an operation has. */
const MOST_STEPS = 36
/** What an office does that another process finds. */
const INGEST = ['letters keep', 'letters mark', 'settle']
const PLACES = ['begin', 'add', 'change', 'mark', 'take', 'forward', ...INGEST]
/** After the nth step, whatever it is; in the midst of the receipts, whenever they come; and one that is not halted. */
const HALTS: readonly World['halt'][] = [
  ...Array.from({ length: MOST_STEPS }, (_, n) => ({ nth: n + 1 })),
  ...INGEST.flatMap((of) => [1, 2].map((nth) => ({ nth, of }))),
  { nth: Number.MAX_SAFE_INTEGER },
]
/** For all who live on, past the leases of who died: nobody need wait for them in a test. */
let ahead = 0
const clock = { ...systemClock, now: () => systemClock.now() + ahead }
const tools = { clock, dice: systemDice(), journal: () => {} }

/** Services that refuse everything; the first of them until it is mended. */
const servicesOn = async (transport: string, folder: string) => {
  const name = `halt-${randomUUID().slice(0, 8)}`
  const facts: Fact[] = []
  const store = `sqlite:${join(folder, 'service.db')}`
  const journal = (fact: Fact) => void facts.push(fact)
  const app = await reprieve({ transport, store, clock, office: false, journal })
  const handled: string[] = []
  let mended = false
  app.service(name).on(`${name}.made`, ({ id }) => {
    if (!mended) throw new Permanent('not yet')
    handled.push(id)
  })
  const hopeless = INGEST.map((_, n) => `${name}-${n}`)
  for (const service of hopeless)
    app.service(service).on(`${service}.made`, () => {
      throw new Permanent('never')
    })
  await app.start()
  const died = (service: string, count: number) =>
    until(`${count} dead of ${service}`, () => {
      const dead = facts.filter((fact) => fact.is === 'dead' && fact.service === service)
      return dead.length >= count
    })
  const publish = (service: string, world: string) =>
    Promise.all(
      Array.from({ length: COUNT }, (_, n) =>
        app.publish(`${service}.made`, { world }, { id: `${world}.${n}` }),
      ),
    )
  const mend = () => {
    mended = true
  }
  return { app, name, hopeless, handled, facts, died, publish, mend }
}

const officeOf = async (transport: Transport, url: string, rules = BOOK) => {
  const store = await openAppStore(url, tools)
  const book = readRules(rules, 'book.yaml')
  const office = await createOffice({ transport, store, book, as: 'carol', tools })
  const close = async () => {
    await office.close()
    await store.companion?.close()
    await store.close()
  }
  return { office, store, close }
}

const killed = async (transport: string, worlds: readonly World[]) => {
  const child = startNode([WORKER, transport, BOOK, JSON.stringify(worlds)], { cwd: folderWith() })
  const { code, stdout, stderr } = await child.ended
  expect(code, `${stdout.slice(-2000)}${stderr}`).toBeNull()
  const lines = stdout.trim().split('\n')
  return (name: string) =>
    lines.flatMap((line) => (line.startsWith(`${name} `) ? line.slice(name.length + 1) : []))
}

/** Whoever comes after it sees to it that each letter goes back; answers how often the audit says that one was sent. */
const goesOn = async (transport: Transport, { name, store: url }: World): Promise<number> => {
  const { office, store, close } = await officeOf(transport, url)
  const { operations } = office
  try {
    await office.open([])
    const [first] = await operations.list()
    // cut short before its set was known: nothing was promised, and it is begun again
    const cut = !first || first.operation.state === 'cancelled'
    if (cut) expect(await office.count({ states: ['open'] })).toBe(COUNT)
    const { operation } = cut ? await operations.plan({}, { batch: 2 }, { reason: 'again' }) : first
    if ((await operations.show(operation.id)).operation.state === 'needs approval')
      await operations.approve(operation.id, { as: 'bob' })
    const over = await until(`the operation of ${name}`, async () => {
      const kept = await operations.show(operation.id)
      return kept.operation.state === 'done' && kept
    })
    expect(over.counts, name).toMatchObject({ resolved: COUNT, waiting: 0, sending: 0, sent: 0, failed: 0 })
    const letters = await office.list({}, 100)
    expect(letters.map(({ letter }) => letter.event.id).sort(), name).toEqual(eventsOf(name))
    expect(letters.every(({ state }) => state === 'resolved')).toBe(true)
    const items = await operations.items(operation.id)
    expect(items.map(({ letter }) => letter).sort()).toEqual(letters.map(({ letter }) => letter.id).sort())
    const entries = await store.audit.recent(1000)
    const approvals = entries.filter(({ act }) => act === 'operation approve')
    expect(approvals).toMatchObject([{ who: 'bob', target: `operation ${operation.id}` }])
    expect((await createAuditing(store.audit, clock).verify()).broken).toBeUndefined()
    const told = entries.filter(({ act }) => act === 'replay' || act === 'replay again')
    return told.reduce((sum, { count }) => sum + count, 0)
  } finally {
    await close()
  }
}

const eventsOf = (world: string): string[] => Array.from({ length: COUNT }, (_, n) => `${world}.${n}`)

/** What died again was kept in part: each death is one letter, counted once, and the letter before it knows of it. */
const takesOver = async (transport: Transport, { store: url, destinations }: World): Promise<void> => {
  const { office, store, close } = await officeOf(transport, url)
  try {
    await office.open(destinations.map((name) => ({ name })))
    await until('all that died again', async () => (await office.count({ states: ['dead again'] })) === COUNT)
    const { letters, count } = await office.find({ states: ['open'] })
    expect(count).toBe(COUNT)
    expect(new Set(letters.map(({ letter }) => letter.trail.replay?.letter)).size).toBe(COUNT)
    expect(await store.letters.groups.deaths()).toMatchObject([{ letters: 2 * COUNT }])
    const [{ counts } = {}] = await office.operations.list()
    expect(counts).toMatchObject({ 'dead again': COUNT, sending: 0, sent: 0 })
  } finally {
    await close()
  }
}

const ARRIVED: ReadonlySet<Fact['is']> = new Set(['done', 'duplicate', 'stale'])

type Sweep = (services: readonly string[], receipts: readonly string[]) => Promise<void>

const drill = (transportFor: (folder: string) => string, sweepUp?: Sweep): void => {
  it('go on wherever that was: approved, canaries out, receipts or letters half kept, between two batches', async () => {
    const folder = folderWith()
    const transport = transportFor(folder)
    const { app, name, hopeless, handled, facts, died, publish, mend } = await servicesOn(transport, folder)
    const never = new AbortController().signal
    const receipts: string[] = []
    try {
      const storeOf = (world: string) => `sqlite:${join(folder, `${world}.db`)}`
      const replaying = HALTS.map((halt, n): World => {
        const world = `${name}.w${n}`
        return { name: world, store: storeOf(world), halt, destinations: [] }
      })
      const ingesting = hopeless.map((service, n): World => {
        const halt = { nth: 1, of: INGEST[n]! }
        return { name: service, store: storeOf(service), halt, destinations: [`_${service}.deadletter`] }
      })
      for (const world of replaying) await publish(name, world.name)
      for (const { name: service, store, destinations } of ingesting) {
        await publish(service, service)
        await died(service, COUNT)
        const { office, close } = await officeOf(app.transport, store, 'version: 1')
        receipts.push(office.receiptTo)
        const from = destinations.map((each) => ({ name: each }))
        await until('its letters', async () => {
          await office.catchUp(from, never)
          return (await office.count({})) === COUNT
        })
        expect((await office.replay({})).sent).toHaveLength(COUNT)
        await close()
        await died(service, 2 * COUNT)
      }
      await died(name, replaying.length * COUNT)
      const all = await until('all letters', async () => {
        await app.office.catchUp([{ name: `_${name}.deadletter` }], never)
        const kept = await app.office.list({}, replaying.length * COUNT)
        return kept.length === replaying.length * COUNT && kept
      })
      for (const world of replaying) {
        const mine = all.filter(({ letter }) => letter.event.id.startsWith(`${world.name}.`))
        const { office, store, close } = await officeOf(app.transport, world.store)
        receipts.push(office.receiptTo)
        await store.letters.keep(mine.map(({ letter }) => letter))
        await close()
      }
      mend()
      const stepsOf = await killed(transport, [...ingesting, ...replaying])
      ahead += 90_000
      const whole = stepsOf(replaying.at(-1)!.name)
      expect(whole.at(-1)).toBe('through')
      // there is a world for every step; on a slow machine it is taken more often
      const once = whole.filter((line) => !line.endsWith(' take'))
      expect(once.length).toBeLessThanOrEqual(MOST_STEPS)
      const halted = replaying.map((world) => stepsOf(world.name).at(-1)!.replace(/^\d+ /, ''))
      expect(new Set(halted)).toEqual(new Set([...PLACES, 'through']))
      const [told] = await Promise.all([
        Promise.all(replaying.map((world) => goesOn(app.transport, world))),
        ...ingesting.map((world) => takesOver(app.transport, world)),
      ])
      // what a service did it tells after the receipt
      const arrived = (event: string) =>
        facts.filter((fact) => ARRIVED.has(fact.is) && 'event' in fact && fact.event === event).length
      for (const [n, world] of replaying.entries()) {
        await until(`facts of ${world.name}`, () => eventsOf(world.name).every((event) => arrived(event) > 0))
        const sent = eventsOf(world.name).reduce((sum, event) => sum + arrived(event), 0)
        expect(sent, `${world.name} ${halted[n]}`).toBeLessThanOrEqual(told[n]!)
      }
      expect(handled.sort()).toEqual(all.map(({ letter }) => letter.event.id).sort())
    } finally {
      await app.close()
      await sweepUp?.([name, ...hopeless], receipts)
    }
  })
}

describe('offices killed by SIGKILL after each durable step, on SQLite', () => {
  drill((folder) => `sqlite:${join(folder, 'transport.db')}`)
})
describeWith('amqp', 'offices killed by SIGKILL after each durable step, on RabbitMQ', (url) => {
  drill(
    () => url,
    async (services, receipts) => {
      for (const service of services) await sweep(url, service, `${service}.made`)
      const model = await connect(url)
      const channel = await model.createChannel()
      for (const each of receipts) await channel.deleteQueue(each)
      await model.close()
    },
  )
})
describeWith('kafka', 'offices killed by SIGKILL after each durable step, on Kafka', (url) => {
  drill(() => `${kafkaUrl(url)}?session=6000&heartbeat=500`)
})
