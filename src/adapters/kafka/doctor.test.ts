import { createServer } from 'node:net'
import { Admin, Producer } from '@platformatic/kafka'
import { afterAll, describe, expect, it } from 'vitest'
import { makeTopic } from '../../../test/kafka/make-topic.ts'
import { describeWith, kafkaUrl } from '../../../test/services/urls.ts'
import type { Finding, Needed } from '../../contracts/doctor.ts'
import type { Subscription } from '../../contracts/transport.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { cluster, reachable } from './doctor-cluster.ts'
import { doctor, open } from './index.ts'
import { retryTopics } from './tiers.ts'
import type { Wire } from './wire.ts'

const dice = systemDice()
const tools = { clock: systemClock, dice, journal: () => {} }
const HOUR = 3_600_000

describeWith('kafka', 'the doctor of a Kafka', (named) => {
  const url = kafkaUrl(named)
  const brokers = url.replace('kafka://', '').split(',')
  const admin = new Admin({ clientId: 'doctor-test', bootstrapBrokers: brokers })
  const made: string[] = []
  afterAll(async () => {
    const there = await admin.listTopics()
    const ours = made.filter((name) => there.includes(name))
    if (ours.length > 0) await admin.deleteTopics({ topics: ours })
    await admin.close()
  })

  const subscription = (): Subscription => {
    const name = `doctor-${dice.uuid()}`
    made.push(name, `${name}.dlq`, ...retryTopics(`${name}-group`))
    return {
      service: name,
      topic: name,
      consumerGroup: `${name}-group`,
      types: ['made'],
      order: 'none',
      lease: 30_000,
      window: 10,
      destinations: [{ name: `${name}.dlq` }],
    }
  }
  const needed = (to: Subscription): Needed => ({
    to,
    attempt: 1000,
    unsettled: 5000,
    retries: 2 * HOUR,
    retention: 24 * HOUR,
  })
  const create = (topic: string, settings: Readonly<Record<string, string>>) =>
    makeTopic(admin, topic, { settings })
  const examine = (at: string, ...subscriptions: Needed[]) => doctor.examine(at, { subscriptions }, tools)
  const told = (findings: readonly Finding[]) =>
    findings
      .filter(({ level }) => level !== 'fine')
      .map(({ level, check, where }) => `${level} ${check} ${where}`)

  it('finds nothing wrong where all is still to be made, and makes nothing', async () => {
    const to = subscription()
    const findings = await examine(url, needed(to))
    expect(told(findings)).toEqual([])
    expect(findings.map(({ check }) => check)).toEqual([
      'kafka-brokers',
      'kafka-version',
      'kafka-offsets',
      'kafka-auto-create',
      'kafka-session',
      'kafka-coordinator',
      'kafka-missing',
    ])
    const there = await admin.listTopics()
    expect(made.filter((name) => there.includes(name))).toEqual([])
  })

  it('tells one copy of what a service has made on one broker, and nothing else', async () => {
    const to = subscription()
    const { transport } = await open(url, tools)
    await (await transport.subscribe(to)).close()
    await transport.close()
    const findings = await examine(url, needed(to))
    expect(new Set(findings.filter(({ level }) => level !== 'fine').map(({ check }) => check))).toEqual(
      new Set(['kafka-replication']),
    )
    expect(told(findings)).toContain(`risky kafka-replication ${to.topic}`)
    for (const check of [
      'kafka-leader',
      'kafka-retention',
      'kafka-compaction',
      'kafka-size',
      'kafka-clock',
      'kafka-flush',
    ]) {
      expect(findings).toContainEqual(expect.objectContaining({ check, level: 'fine' }))
    }
  })

  it('tells retention that is shorter than the windows of the rules, by what is lost', async () => {
    const plain = subscription()
    const short = { name: `${plain.topic}.short`, expire: HOUR }
    const to = { ...plain, destinations: [...plain.destinations, short] }
    const [retry, other] = retryTopics(to.consumerGroup)
    await create(to.topic, { 'retention.ms': String(HOUR) })
    await create(retry!, { 'retention.ms': String(HOUR) })
    await create(other!, { 'retention.bytes': '1000000' })
    await create(`${to.topic}.dlq`, { 'retention.ms': String(HOUR) })
    const findings = (await examine(url, needed(to))).filter(({ check }) => check === 'kafka-retention')
    expect(told(findings)).toEqual([
      `risky kafka-retention ${short.name}`,
      `risky kafka-retention ${to.topic}`,
      `wrong kafka-retention ${retry}`,
      `risky kafka-retention ${other}`,
      `risky kafka-retention ${to.topic}.dlq`,
    ])
    expect(findings[0]!.what).toBe(
      'the broker drops letters there after 1 hour, and the rules keep them for 1 day',
    )
    expect(findings[2]).toMatchObject({
      what: expect.stringMatching(/^retention.ms is 1 hour, and retries of .* may go on for 2 hours$/),
      why: 'the broker drops retries that still wait without a word',
      fix: `set retention.ms to ${2 * HOUR} or more`,
    })
  })

  it('tells a retry topic that is compacted, one that is too small, and one that no write reaches', async () => {
    const to = subscription()
    const [compacted, small, strict] = retryTopics(to.consumerGroup)
    await create(to.topic, { 'max.message.bytes': '2000000', 'retention.ms': '-1' })
    await create(compacted!, { 'cleanup.policy': 'compact', 'max.message.bytes': '2000000' })
    await create(small!, { 'max.message.bytes': '1000000', 'retention.ms': '-1' })
    await create(strict!, { 'min.insync.replicas': '2', 'max.message.bytes': '2000000' })
    const findings = await examine(url, needed(to))
    // what is too large for it waits and is buried in the store
    expect(told(findings)).toContain(`risky kafka-size ${small}`)
    expect(told(findings).filter((line) => line.startsWith('wrong'))).toEqual([
      `wrong kafka-compaction ${compacted}`,
      `wrong kafka-leader ${strict}`,
    ])
  })

  it('tells a retry topic that is narrower than its source, and that it will be given more', async () => {
    const to = subscription()
    const [narrow] = retryTopics(to.consumerGroup)
    await makeTopic(admin, to.topic, { partitions: 3 })
    await makeTopic(admin, narrow!)
    const found = (await examine(url, needed(to))).filter(({ check }) => check === 'kafka-partitions')
    expect(found).toMatchObject([
      { level: 'fine', where: narrow, what: expect.stringMatching(/^it has 1 partitions, and its source 3/) },
    ])
  })

  it('tells records from the future', async () => {
    const to = subscription()
    await create(to.topic, { 'message.timestamp.after.max.ms': String(48 * HOUR) })
    const producer = new Producer({ clientId: 'doctor-test', bootstrapBrokers: brokers })
    const timestamp = BigInt(Date.now() + 5 * HOUR)
    await producer.send({ messages: [{ topic: to.topic, value: Buffer.from('{}'), timestamp }] })
    await producer.close()
    const clock = (await examine(url, needed(to))).find(({ check }) => check === 'kafka-clock')
    expect(clock).toMatchObject({
      level: 'risky',
      where: to.topic,
      what: expect.stringMatching(/from 5 hours ahead/),
    })
  })

  it('tells that topics can not be made with more replicas than there are brokers, without making one', async () => {
    const to = subscription()
    const findings = await examine(`${url}?replication=7`, needed(to))
    expect(told(findings)).toEqual(['wrong kafka-missing topics'])
    expect(findings.at(-1)).toMatchObject({ fix: 'set ?replication= to what the brokers allow' })
  })

  it('rejects, as open does, where nobody answers', async () => {
    await expect(examine('kafka://127.0.0.1:1')).rejects.toMatchObject({ code: 'unavailable' })
  })
})

/** What one broker can't show: others that are away, or older. */
const wireOf = (admin: object): Wire => ({ admin, tools }) as unknown as Wire

describe('what a cluster says of itself', () => {
  it('a broker that gives a name for itself at which nobody answers is told by that name', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const brokers = new Map([
      [1, { host: '127.0.0.1', port }],
      [2, { host: '127.0.0.1', port: 1 }],
    ])
    const findings = await reachable(wireOf({ metadata: async () => ({ brokers }) }))
    server.close()
    expect(findings).toEqual([
      expect.objectContaining({ check: 'kafka-brokers', level: 'wrong', where: '127.0.0.1:1' }),
    ])
    expect(findings[0]!.fix).toMatch(/advertised\.listeners/)
  })

  it('brokers that are too old, forget offsets soon or do not let their settings be seen are told', async () => {
    const admin = {
      metadata: async () => ({ brokers: new Map([[1, {}]]) }),
      listApis: async () => [
        { apiKey: 0, minVersion: 0, maxVersion: 8 },
        { apiKey: 1, minVersion: 0, maxVersion: 12 },
        { apiKey: 8, minVersion: 0, maxVersion: 8 },
        { apiKey: 22, minVersion: 0, maxVersion: 3 },
        { apiKey: 28, minVersion: 0, maxVersion: 2 },
      ],
      describeConfigs: async () => [{ configs: [{ name: 'offsets.retention.minutes', value: '60' }] }],
    }
    expect(await cluster(wireOf(admin))).toEqual([
      expect.objectContaining({
        check: 'kafka-version',
        level: 'wrong',
        what: "they don't speak Produce 9, Fetch 13, InitProducerId 4, TxnOffsetCommit 3",
      }),
      expect.objectContaining({
        check: 'kafka-offsets',
        level: 'risky',
        what: expect.stringMatching(/for 1 hour/),
      }),
    ])
    const silent = {
      ...admin,
      describeConfigs: async () => Promise.reject(new Error('Cluster authorization failed.')),
    }
    expect((await cluster(wireOf(silent)))[1]).toMatchObject({
      check: 'kafka-permissions',
      level: 'risky',
      what: "can't be seen: Cluster authorization failed.",
    })
  })
})
