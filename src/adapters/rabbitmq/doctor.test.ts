import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { deskAt, uniqueName } from '../../../test/rabbitmq/desk.ts'
import { describeOwnBroker, type OwnBroker, ownBroker } from '../../../test/rabbitmq/own-broker.ts'
import { freePorts } from '../../../test/services/ports.ts'
import { describeWith } from '../../../test/services/urls.ts'
import type { Finding, Needed } from '../../contracts/doctor.ts'
import type { Subscription } from '../../contracts/transport.ts'
import { freshParcel } from '../../core/parcel.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { version } from './doctor.ts'
import { doctor, open } from './index.ts'
import { exchangeOfDead, queueOf } from './names.ts'

const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
const DAY = 86_400_000

const needed = (to: Subscription, over: Partial<Needed> = {}): Needed => ({
  to,
  attempt: 1000,
  unsettled: 5000,
  retries: 60_000,
  retention: 7 * DAY,
  ...over,
})
const examine = (url: string, ...subscriptions: Needed[]) => doctor.examine(url, { subscriptions }, tools)
/** Other tests, which delete their queues, leave waits without a home on a broker that is shared. */
const bad = (findings: readonly Finding[]) =>
  findings.filter(({ level, check }) => level !== 'fine' && check !== 'rabbitmq-homeless')

describeWith('amqp', 'the doctor of a RabbitMQ', (url) => {
  const desk = deskAt(url)

  it('finds nothing wrong, looks at all it knows, and leaves nothing behind', async () => {
    const to = desk.subscription()
    const exchange = desk.exchange('doctor')
    const findings = await examine(`${url}?exchange=${exchange}`, needed(to))
    expect(bad(findings)).toEqual([])
    const checks = findings.map(({ check }) => check)
    expect(checks).toEqual(expect.arrayContaining(['rabbitmq-version', 'rabbitmq-alarm', 'rabbitmq-missing']))
    const queues = [queueOf(to), ...to.destinations.map(({ name }) => name)]
    for (const queue of queues) {
      await expect((await desk.channel()).checkQueue(queue)).rejects.toThrow(/NOT.FOUND/)
    }
    for (const name of [exchange, exchangeOfDead(queueOf(to))]) {
      await expect((await desk.channel()).checkExchange(name)).rejects.toThrow(/NOT.FOUND/)
    }
  })

  it('finds nothing wrong with what a service has made, and takes nothing from its queue', async () => {
    const to = desk.subscription()
    const exchange = desk.exchange('doctor')
    const at = `${url}?exchange=${exchange}`
    const transport = await desk.transport(at)
    await (await transport.subscribe(to)).close()
    const channel = await desk.channel()
    channel.sendToQueue(queueOf(to), Buffer.from('{}'), { persistent: true })
    await expect.poll(async () => (await channel.checkQueue(queueOf(to))).messageCount).toBe(1)
    expect(bad(await examine(at, needed(to)))).toEqual([])
    expect(await channel.checkQueue(queueOf(to))).toMatchObject({ consumerCount: 0, messageCount: 1 })
    const message = await channel.get(queueOf(to))
    expect(message).toMatchObject({ fields: { redelivered: false, messageCount: 0 } })
  })

  it('tells a queue and an exchange that exist with other arguments, and which', async () => {
    const to = desk.subscription()
    const exchange = desk.exchange('doctor')
    const channel = await desk.channel()
    await channel.assertExchange(exchange, 'fanout')
    await channel.assertQueue(queueOf(to), { arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': 5 } })
    await channel.assertQueue(to.destinations[0]!.name, {
      arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': 1_000_000, 'x-message-ttl': 1000 },
    })
    const findings = bad(await examine(`${url}?exchange=${exchange}`, needed(to)))
    expect(findings.map(({ level, check, where }) => `${level} ${check} ${where}`)).toEqual([
      `wrong rabbitmq-differs exchange ${exchange}`,
      `wrong rabbitmq-differs queue ${to.destinations[0]!.name}`,
      `wrong rabbitmq-differs queue ${queueOf(to)}`,
    ])
    expect(findings[0]!.what).toMatch(/another type: we ask for 'topic', it has 'fanout'/)
    expect(findings[1]!.what).toMatch(/another x-message-ttl/)
    expect(findings[2]!.fix).toMatch(/delete the queue .* yourself; nothing is ever deleted for you/)
    // still as they were
    expect(await channel.checkQueue(queueOf(to))).toMatchObject({ messageCount: 0 })
  })

  it('tells deliveries that outlast the consumer timeout, and letters that are dropped before their time', async () => {
    const service = uniqueName('svc')
    const to = desk.subscription({ service, destinations: [{ name: `${service}.dlq`, expire: DAY }] })
    const findings = bad(await examine(url, needed(to, { unsettled: 45 * 60_000 })))
    expect(findings).toEqual([
      expect.objectContaining({
        check: 'rabbitmq-consumer-timeout',
        level: 'risky',
        where: queueOf(to),
        what: expect.stringContaining('unsettled for 45 min'),
      }),
      expect.objectContaining({
        check: 'rabbitmq-retention',
        level: 'risky',
        what: expect.stringContaining('after 1 day, and the rules keep them for 7 days'),
      }),
    ])
  })

  it('tells hours as hours', async () => {
    const service = uniqueName('svc')
    const to = desk.subscription({ service, destinations: [{ name: `${service}.dlq`, expire: 3_600_000 }] })
    expect(bad(await examine(url, needed(to))).map(({ what }) => what)).toEqual([
      'the broker drops letters there after 1 hour, and the rules keep them for 7 days',
    ])
  })

  it('tells classic queues and a connection without heartbeat, where they were asked for', async () => {
    const findings = bad(await examine(`${url}?queue=classic&heartbeat=0`))
    expect(findings.map(({ check, level }) => `${level} ${check}`)).toEqual([
      'risky rabbitmq-queue-type',
      'risky rabbitmq-heartbeat',
    ])
  })
})

describeOwnBroker('the doctor of a RabbitMQ of our own', () => {
  let own: OwnBroker
  let management: string
  beforeAll(async () => {
    const [port] = await freePorts(1)
    management = `http://127.0.0.1:${port}`
    const lines = [
      `management.tcp.port = ${port}`,
      'management.tcp.ip = 127.0.0.1',
      'vm_memory_calculation_strategy = allocated', // not every system shows a broker its /proc
    ]
    own = await ownBroker(lines, ['rabbitmq_management'])
    await own.control('add_user', 'poor', 'not-to-be-shown')
    await own.control('set_permissions', 'poor', '^$', '^$', '^$')
  })
  afterAll(() => own?.close())

  const to: Subscription = {
    service: 'svc',
    topic: 'made',
    consumerGroup: 'svc',
    types: ['made'],
    order: 'none',
    lease: 30_000,
    window: 10,
    destinations: [{ name: 'svc.dlq' }],
  }
  const as = (user: string): string => own.url.replace(/\/\/.*@/, `//${user}:not-to-be-shown@`)
  const refusals = async (user: string) => {
    const needs = { subscriptions: [needed(to)], receipts: 'house.receipts.0' }
    const findings = await doctor.examine(as(user), needs, tools)
    return bad(findings).map(({ check, where, what }) => `${check} ${where}: ${what}`)
  }

  it('tells each name that a user may not configure, write or read, and shows no password', async () => {
    const all = await refusals('poor')
    expect(all).toEqual(
      expect.arrayContaining([
        'rabbitmq-permissions exchange amq.default (the default exchange): the user lacks the write permission',
        'rabbitmq-permissions exchange reprieve.events: the user lacks the configure permission',
        // from 4.0 on the broker itself names the first that is lacking
        expect.stringMatching(/exchange reprieve.events: the user lacks the write (and read )?permission/),
        'rabbitmq-permissions queue svc.made: the user lacks the configure permission',
        'rabbitmq-permissions queue svc.made: the user lacks the read permission',
      ]),
    )
    const fixes = bad(await examine(as('poor'), needed(to))).map(({ fix }) => fix)
    expect(new Set(fixes)).toEqual(
      new Set([
        expect.stringMatching(/^rabbitmqctl set_permissions -p '\/' 'poor' <configure> <write> <read>/),
      ]),
    )
    expect(JSON.stringify(await examine(as('poor'), needed(to)))).not.toContain('not-to-be-shown')
    await own.control(
      'set_permissions',
      'poor',
      '^(house|reprieve|svc)\\.',
      '^(house|reprieve|svc)\\.',
      '^(house|reprieve|svc)\\.',
    )
    expect(await refusals('poor')).toEqual([
      'rabbitmq-permissions exchange amq.default (the default exchange): the user lacks the write permission',
    ])
    // all but what binding a queue needs, and the office's own
    const rest = '^(?!house\\.)'
    await own.control(
      'set_permissions',
      'poor',
      rest,
      '^(reprieve\\.|amq\\.default$|svc\\.made\\.dlx$)',
      rest,
    )
    expect(await refusals('poor')).toEqual([
      'rabbitmq-permissions queue svc.dlq: the user lacks the write permission',
      'rabbitmq-permissions queue svc.made: the user lacks the write permission',
      'rabbitmq-permissions queue house.receipts.0: the user lacks the configure permission',
      'rabbitmq-permissions queue house.receipts.0: the user lacks the read permission',
    ])
    await own.control('set_permissions', 'poor', '.*', '.*', '^reprieve\\.')
    expect(await refusals('poor')).toContain(
      'rabbitmq-permissions queue svc.made: the user lacks the read permission',
    )
    await own.control('set_permissions', 'poor', '.*', '.*', '.*')
    expect(await refusals('poor')).toEqual([])
    expect((await own.control('list_queues', 'name', '--quiet', '--no-table-headers')).trim()).toBe('')
  })

  it('tells of waits whose queue is gone, until nobody waits there', async () => {
    const homeless = async () =>
      (await examine(own.url, needed(to))).find(({ check }) => check === 'rabbitmq-homeless')
    expect(await homeless()).toMatchObject({ level: 'fine' })
    const { transport } = await open(own.url, tools)
    const gone = { ...to, service: 'retired', destinations: [] }
    await (await transport!.subscribe(gone)).close()
    const event = { id: 'x', source: 's', type: 'made', extensions: {}, headers: {}, data: null }
    await transport!.forward(gone, [freshParcel(event, Date.now() + 4900)])
    await own.control('delete_queue', queueOf(gone))
    await expect.poll(homeless, { interval: 500 }).toMatchObject({
      level: 'risky',
      what: expect.stringMatching(/^1 waits lie there/),
      fix: expect.stringContaining('foreign'),
    })
    await own.control('purge_queue', 'reprieve.homeless')
    expect(await homeless()).toMatchObject({ level: 'fine' })
    await transport!.close()
  })

  it('tells what policies make of our queues, where the management API is named, and else that they are not seen', async () => {
    const transport = await open(own.url, tools)
    onTestFinished(() => transport.transport!.close())
    await (await transport.transport!.subscribe(to)).close()
    const policies = async () =>
      (await examine(own.url, needed(to)))
        .filter(({ check }) => check === 'rabbitmq-policies')
        .map(({ level, where, what }) => `${level} ${where}: ${what}`)
    expect(await policies()).toEqual([
      expect.stringMatching(/^fine policies: not looked at, .* REPRIEVE_RABBITMQ_MANAGEMENT/),
    ])
    vi.stubEnv('REPRIEVE_RABBITMQ_MANAGEMENT', management)
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(await policies()).toEqual([expect.stringMatching(/^fine management API: 19 queues: no policy/)])
    await own.control('set_policy', 'short', '^svc\\.', '{"message-ttl":60000,"delivery-limit":5}')
    await own.control('set_operator_policy', 'bound', '^svc\\.dlq$', '{"max-length":100}')
    await expect
      .poll(policies)
      .toEqual([
        "wrong queue svc.made: its message-ttl is 60000, by policy 'short'",
        "risky queue svc.made: its delivery-limit is 5, by policy 'short'",
        "risky queue svc.dlq: its message-ttl is 60000, by operator policy 'bound' and policy 'short'",
        "risky queue svc.dlq: its max-length is 100, by operator policy 'bound' and policy 'short'",
        "risky queue svc.dlq: its delivery-limit is 5, by operator policy 'bound' and policy 'short'",
      ])
    // as docs/doctor.md asks for: no administrator
    await own.control('add_user', 'watcher', 'not-to-be-shown')
    await own.control('set_user_tags', 'watcher', 'monitoring')
    await own.control('set_permissions', 'watcher', '^$', '^$', '.*')
    vi.stubEnv('REPRIEVE_RABBITMQ_MANAGEMENT', management.replace('//', '//watcher:not-to-be-shown@'))
    expect(await policies()).toContain("wrong queue svc.made: its message-ttl is 60000, by policy 'short'")
    await own.control('clear_policy', 'short')
    await own.control('clear_operator_policy', 'bound')
    vi.stubEnv('REPRIEVE_RABBITMQ_MANAGEMENT', management.replace('//', '//poor:not-to-be-shown@'))
    expect(await policies()).toEqual([
      expect.stringMatching(/^risky management API: it could not be asked .* 401 to the user 'poor'/),
    ])
  })

  it('tells an alarm that holds up whoever publishes', async () => {
    await own.alarm(true)
    const [alarm] = bad(await examine(own.url, needed(to)))
    expect(alarm).toMatchObject({
      check: 'rabbitmq-alarm',
      level: 'wrong',
      what: expect.stringMatching(/memory/),
    })
    await own.alarm(false)
    await expect.poll(async () => bad(await examine(own.url, needed(to)))).toEqual([])
  })
})

describe('the version of RabbitMQ', () => {
  it.for([
    ['RabbitMQ', '3.8.34', 'wrong'],
    ['RabbitMQ', '3.9.29', 'wrong'],
    ['RabbitMQ', '3.10.0', 'fine'],
    ['RabbitMQ', '3.13.7', 'fine'],
    ['RabbitMQ', '4.1.0', 'fine'],
    ['LavinMQ', '2.1.0', 'wrong'],
    ['RabbitMQ', '?', 'wrong'],
  ] as const)('%s %s is %s', ([product, release, level]) => {
    expect(version(product, release)).toMatchObject({ check: 'rabbitmq-version', level })
  })

  it('says what is different from 4.0 on', () => {
    expect(version('RabbitMQ', '4.0.5').what).toMatch(/delivery limit has one of 20/)
    expect(version('RabbitMQ', '3.13.0').what).toBe('RabbitMQ 3.13.0')
  })
})
