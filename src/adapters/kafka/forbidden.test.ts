import {
  AclOperations,
  AclPermissionTypes,
  Admin,
  ResourcePatternTypes,
  ResourceTypes,
} from '@platformatic/kafka'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeOwnKafka, type OwnKafka, ownKafka } from '../../../test/kafka/own-kafka.ts'
import { freePorts } from '../../../test/services/ports.ts'
import { until } from '../../../test/until.ts'
import type { Fact } from '../../contracts/journal.ts'
import type { Inlet } from '../../contracts/transport.ts'
import { realWorld } from '../../testing/trials/index.ts'
import { idsOf, makeEvents, makeSubscription, take, takeOne } from '../../testing/trials/kit.ts'
import { burial, failedOnce } from '../../testing/trials/samples.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { open } from './index.ts'

describeOwnKafka('a kafka that forbids a user one topic', () => {
  const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
  let kafka: OwnKafka
  let admin: Admin
  let sasl: number

  beforeAll(async () => {
    sasl = (await freePorts(1))[0]!
    const plain = 'org.apache.kafka.common.security.plain.PlainLoginModule'
    kafka = await ownKafka({
      settings: (usual) => ({
        listeners: `${usual.listeners},SASL://127.0.0.1:${sasl}`,
        'advertised.listeners': `${usual['advertised.listeners']},SASL://127.0.0.1:${sasl}`,
        'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT',
        'sasl.enabled.mechanisms': 'PLAIN',
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'super.users': 'User:ANONYMOUS',
        'allow.everyone.if.no.acl.found': 'true',
        'listener.name.sasl.plain.sasl.jaas.config': `${plain} required user_bob="word";`,
      }),
    })
    admin = new Admin({ clientId: 'test', bootstrapBrokers: [...kafka.brokers] })
  })
  afterAll(async () => {
    await admin?.close()
    await kafka?.close()
  })

  type Right = keyof typeof AclOperations
  type Says = keyof typeof AclPermissionTypes
  const ruleOf = (resourceName: string, right: Right, says: Says) => ({
    resourceType: ResourceTypes.TOPIC,
    resourceName,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: 'User:bob',
    host: '*',
    operation: AclOperations[right],
    permissionType: AclPermissionTypes[says],
  })
  /** Until the broker has heard of it itself. */
  const rule = async (resourceName: string, right: Right, says: Says) => {
    const given = ruleOf(resourceName, right, says)
    await admin.createAcls({ creations: [given] })
    await until('the rule', async () => {
      const known = (await admin.describeAcls({ filter: given })) as readonly unknown[]
      return known.length > 0
    })
  }
  const forbid = (name: string, right: Right) => rule(name, right, 'DENY')

  it.each([
    { right: 'WRITE', transactions: false },
    { right: 'WRITE', transactions: true },
    { right: 'DESCRIBE', transactions: false },
    { right: 'DESCRIBE', transactions: true },
  ] as const)(
    'fails what goes there and nothing beside it: $right, transactions $transactions',
    async (given) => {
      const url = `kafka://bob:word@127.0.0.1:${sasl}`
      const world = realWorld(open, url, tools)
      const to = makeSubscription(world, { transactions: given.transactions })
      const { transport } = await world.open()
      try {
        const inlet = await transport!.subscribe(to)
        await transport!.publish(to.topic, makeEvents(world, 4))
        const [put, forbidden, buried, acked] = await take(world, inlet, 4)
        await forbid(to.destinations[1]!.name, given.right)
        const answers = await inlet.settle([
          { do: 'later', delivery: put!, parcel: failedOnce(world, put!.parcel, 0) },
          burial(world, to, forbidden!, 1),
          burial(world, to, buried!),
          { do: 'ack', delivery: acked! },
        ])
        expect(answers).toEqual(['done', expect.objectContaining({ code: 'unavailable' }), 'done', 'done'])
        expect(await inlet.settle([burial(world, to, forbidden!)])).toEqual(['done'])
        expect(idsOf([await takeOne(world, inlet)])).toEqual(idsOf([put!]))
      } finally {
        await transport!.close()
      }
    },
  )

  it('to read goes on with the others of the consumer group, whoever joins it, and with that one when it may', async () => {
    const facts: Fact[] = []
    const url = `kafka://bob:word@127.0.0.1:${sasl}`
    const world = realWorld(open, url, { ...tools, journal: (fact) => void facts.push(fact) })
    const to = makeSubscription(world)
    const beside = { ...to, topic: world.name('beside') }
    const [first, second] = [(await world.open()).transport!, (await world.open()).transport!]
    const consume = (inlet: Inlet) => {
      const done: string[] = []
      const run = async () => {
        for (;;) {
          const got = await inlet.receive(10, new AbortController().signal)
          const answers = await inlet.settle(got.map((delivery) => ({ do: 'ack', delivery })))
          done.push(...idsOf(got.filter((_, i) => answers[i] === 'done')))
        }
      }
      run().catch(() => {}) // it was closed
      return done
    }
    const send = async (topic: string, count = 1) => {
      const events = makeEvents(world, count)
      await first.publish(topic, events)
      return events.map(({ id }) => id)
    }
    try {
      const forbidden = consume(await first.subscribe(to))
      const here = consume(await first.subscribe(beside))
      const ids = [...(await send(to.topic)), ...(await send(beside.topic))]
      await until('both', () => ids.every((id) => [...forbidden, ...here].includes(id)))
      await rule(to.topic, 'ALL', 'ALLOW')
      await rule(to.topic, 'READ', 'DENY')
      const told = new RegExp(`fetching .*${to.topic}/\\d`)
      await until('the trouble', () =>
        facts.some((fact) => fact.is === 'trouble' && told.test(fact.error.message)),
      )
      const [unread] = await send(to.topic)
      const there = consume(await second.subscribe(beside))
      const sent: string[] = []
      await until('the other one to have its share', async () => {
        sent.push(...(await send(beside.topic, 6)))
        return there.length > 0
      })
      await until('all of them', () => sent.every((id) => [...here, ...there].includes(id)))
      expect(forbidden).not.toContain(unread)
      await admin.deleteAcls({ filters: [ruleOf(to.topic, 'READ', 'DENY')] })
      await until('what could not be read', () => forbidden.includes(unread!))
    } finally {
      await Promise.all([first.close(), second.close()])
    }
  })
})
