import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'amqplib'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { type Fact, Permanent, type Reprieve, reprieve, Transient } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-order-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const bookFor = (name: string, afterDeath: string) =>
  readRules(
    `version: 1
policies: { quick: { backoff: fixed, delay: 150ms, jitter: none, retries: 500, window: 5m } }
topics: { ${name}: ['${name}.*'] }
defaults: { policy: quick, concurrency: 8 }
services:
  ${name}:
    events:
      ${name}.moved: { order: key, afterDeath: ${afterDeath} }
      ${name}.noted: {}`,
    'test.yaml',
  )

/** What a service leaves on RabbitMQ; the office's own queue stays, as everywhere. */
const clearAway = async (url: string, name: string): Promise<void> => {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  const queue = `${name}.${name}`
  for (const each of [queue, `_${name}.deadletter`, `_${name}.quarantine`]) await channel.deleteQueue(each)
  await channel.deleteExchange(`${queue}.dlx`)
  await connection.close()
}

let count = 0
/** A service that can run in several processes: each `worker` is an app of its own on the same transport and store. */
const world = (transport: (name: string) => string, afterDeath = 'hold') => {
  const name = `o${process.pid}-${Date.now()}-${count++}`
  const url = transport(name)
  const alone = url.startsWith('memory:') || url.startsWith('sqlite:')
  // the last to be told is the first to be done: when the workers are closed
  if (url.startsWith('amqp')) onTestFinished(() => clearAway(url, name))
  const worker = async (journal: (fact: Fact) => void = () => {}): Promise<Reprieve> => {
    const app = await reprieve({
      rules: bookFor(name, afterDeath),
      transport: url,
      ...(!alone && { store: `sqlite:${join(folder, `${name}.db`)}` }),
      journal,
    })
    onTestFinished(() => app.close(1000))
    return app
  }
  return { name, moved: `${name}.moved`, noted: `${name}.noted`, worker }
}

interface Done {
  readonly key: string
  readonly n: number
}

/** In the order of a single publisher that waits for each. */
const publishTo = async (app: Reprieve, type: string, key: string, ns: readonly number[]): Promise<void> => {
  for (const n of ns) await app.publish(type, { key, n }, { orderKey: key })
}

const numbersOf = (done: readonly Done[], of: string) =>
  done.filter(({ key }) => key === of).map(({ n }) => n)

const keptLetter = (app: Reprieve, service: string) =>
  until('an open letter', async () => (await app.office.list({ service, states: ['open'] }, 1))[0]?.letter)

/** The same promises, whatever carries the events. */
const promises = (transport: (name: string) => string) => {
  it('a key in retry holds up its followers, and no other key', async () => {
    const { name, moved, worker } = world(transport)
    const app = await worker()
    const done: Done[] = []
    let ill = true
    app.service(name).on(moved, ({ data }: { data: Done }) => {
      if (data.key === 'a' && data.n === 1 && ill) throw new Transient('not yet')
      done.push(data)
    })
    await app.start()
    await publishTo(app, moved, 'a', [1, 2, 3])
    await publishTo(app, moved, 'b', [1, 2, 3])
    await until('the other key', () => numbersOf(done, 'b').length === 3)
    await systemClock.sleep(300)
    expect(numbersOf(done, 'a')).toEqual([])
    ill = false
    await until('the key that was in retry', () => numbersOf(done, 'a').length === 3)
    expect(numbersOf(done, 'a')).toEqual([1, 2, 3])
    expect(numbersOf(done, 'b')).toEqual([1, 2, 3])
  })

  it('a dead event holds its key: a replay that dies again holds on, one that ends well frees in order', async () => {
    const { name, moved, worker } = world(transport)
    const app = await worker()
    const done: Done[] = []
    let mended = false
    app.service(name).on(moved, ({ data }: { data: Done }) => {
      if (data.key === 'a' && data.n === 2 && !mended) throw new Permanent('no such place')
      done.push(data)
    })
    await app.start()
    await publishTo(app, moved, 'a', [1, 2, 3, 4])
    await publishTo(app, moved, 'b', [1, 2])
    const first = await keptLetter(app, name)
    await until('the other key', () => numbersOf(done, 'b').length === 2)
    await publishTo(app, moved, 'a', [5])
    await until('three behind the letter', async () => (await app.office.behind(first)) === 3)
    expect(numbersOf(done, 'a')).toEqual([1])

    await app.office.replay({ ids: [first.id] })
    const second = await until('a second letter', async () => {
      const letter = await keptLetter(app, name)
      return letter.id === first.id ? undefined : letter
    })
    await until('three behind the new letter', async () => (await app.office.behind(second)) === 3)
    expect(await app.office.behind(first)).toBe(0)
    expect(numbersOf(done, 'a')).toEqual([1])

    mended = true
    await app.office.replay({ ids: [second.id] })
    await until('all of the key', () => numbersOf(done, 'a').length === 5)
    expect(numbersOf(done, 'a')).toEqual([1, 2, 3, 4, 5])
    await until('the receipt', async () => (await app.office.show(second.id)).state === 'resolved')
    expect(await app.office.behind(second)).toBe(0)
  })

  it('a letter that is discarded frees what waited behind it, in order', async () => {
    const { name, moved, worker } = world(transport)
    const facts: Fact[] = []
    const app = await worker((fact) => facts.push(fact))
    const done: Done[] = []
    app.service(name).on(moved, ({ data }: { data: Done }) => {
      if (data.n === 1) throw new Permanent('no such place')
      done.push(data)
    })
    await app.start()
    await publishTo(app, moved, 'a', [1, 2, 3])
    const letter = await keptLetter(app, name)
    await until('two behind the letter', async () => (await app.office.behind(letter)) === 2)
    expect(await app.office.discard([letter.id, 'nothing'], { reason: 'moved by hand' })).toEqual({
      discarded: [letter.id],
      skipped: [{ id: 'nothing', because: 'no letter has this id' }],
      freed: 2,
    })
    await until('the followers', () => done.length === 2)
    expect(numbersOf(done, 'a')).toEqual([2, 3])
    expect((await app.office.show(letter.id)).state).toBe('discarded')
    expect(facts).toContainEqual(
      expect.objectContaining({ is: 'discarded', letter: letter.id, reason: 'moved by hand' }),
    )
    expect(await app.office.replay({ ids: [letter.id] })).toMatchObject({ sent: [] })
    expect(await app.office.discard([letter.id])).toMatchObject({ discarded: [letter.id], freed: 0 })
  })

  it('an event that comes again, done or still in line, does not run behind later ones', async () => {
    const { name, moved, worker } = world(transport)
    const facts: Fact[] = []
    const app = await worker((fact) => facts.push(fact))
    const done: Done[] = []
    let ill = true
    app.service(name).on(moved, ({ data }: { data: Done }) => {
      if (data.n === 2 && ill) throw new Transient('not yet')
      done.push(data)
    })
    await app.start()
    const publish = (n: number) => app.publish(moved, { key: 'a', n }, { id: `${name}-${n}`, orderKey: 'a' })
    await publish(1)
    await until('the first', () => done.length === 1)
    // the first is done, and known to the ledger; the others still stand in line
    for (const n of [2, 3, 1, 2, 3, 4]) await publish(n)
    await until('an attempt of the second', () => facts.some(({ is }) => is === 'retry'))
    ill = false
    await until('the last', () => done.at(-1)?.n === 4)
    expect(numbersOf(done, 'a')).toEqual([1, 2, 3, 4])
    expect(facts.some(({ is }) => is === 'duplicate')).toBe(true)
  })

  it('a type that asks for no order passes by a key that is held', async () => {
    const { name, moved, noted, worker } = world(transport)
    const app = await worker()
    const notes: Done[] = []
    app
      .service(name)
      .on(moved, () => {
        throw new Permanent('no such place')
      })
      .on(noted, ({ data }: { data: Done }) => void notes.push(data))
    await app.start()
    await publishTo(app, moved, 'a', [1, 2])
    const letter = await keptLetter(app, name)
    await publishTo(app, noted, 'a', [1, 2, 3])
    await until('the unordered ones', () => notes.length === 3)
    await until('one behind the letter', async () => (await app.office.behind(letter)) === 1)
  })

  it('with afterDeath: continue the followers of the dead go on by themselves', async () => {
    const { name, moved, worker } = world(transport, 'continue')
    const app = await worker()
    const done: Done[] = []
    app.service(name).on(moved, ({ data }: { data: Done }) => {
      if (data.n === 1) throw new Permanent('no such place')
      done.push(data)
    })
    await app.start()
    await publishTo(app, moved, 'a', [1, 2, 3])
    await until('the followers', () => done.length === 2)
    expect(numbersOf(done, 'a')).toEqual([2, 3])
    expect(await app.office.behind(await keptLetter(app, name))).toBe(0)
  })

  it('two workers keep the order of each key while events fail and one of the workers leaves', async () => {
    const { name, moved, noted, worker } = world(transport)
    const done: Done[] = []
    const notes: Done[] = []
    const serve = async () => {
      const app = await worker()
      app
        .service(name)
        .on(moved, async ({ data }: { data: Done }) => {
          await systemClock.sleep(Math.random() * 5)
          if (Math.random() < 0.1) throw new Transient('not now')
          done.push(data)
        })
        .on(noted, ({ data }: { data: Done }) => void notes.push(data))
      await app.start()
      return app
    }
    const [first, second] = [await serve(), await serve()]
    const keys = Array.from({ length: 10 }, (_, k) => `k${k}`)
    for (let n = 0; n < 20; n++) {
      await Promise.all(keys.map((key) => publishTo(second, moved, key, [n])))
      await publishTo(second, noted, 'k0', [n])
      if (n === 10) void first.close(1000)
    }
    await until('all of them', () => new Set(done.map(({ key, n }) => `${key} ${n}`)).size === 200)
    for (const key of keys) {
      const firsts = [...new Set(numbersOf(done, key))]
      expect(firsts).toEqual(Array.from({ length: 20 }, (_, n) => n))
    }
    await until('the unordered ones', () => new Set(notes.map(({ n }) => n)).size === 20)
  })
}

describe('in memory', () => promises((name) => `memory:${name}`))
describe('on SQLite', () => promises((name) => `sqlite:${join(folder, `${name}.db`)}`))
describeWith('amqp', 'on a real RabbitMQ beside SQLite', (url) => promises(() => url))
describeWith('kafka', 'on a real Kafka beside SQLite', (url) => promises(() => kafkaUrl(url)))
