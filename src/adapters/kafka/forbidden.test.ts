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

  /** Until the broker has heard of it itself. */
  const forbid = async (resourceName: string, right: keyof typeof AclOperations) => {
    const rule = {
      resourceType: ResourceTypes.TOPIC,
      resourceName,
      resourcePatternType: ResourcePatternTypes.LITERAL,
      principal: 'User:bob',
      host: '*',
      operation: AclOperations[right],
      permissionType: AclPermissionTypes.DENY,
    }
    await admin.createAcls({ creations: [rule] })
    await until('the rule', async () => {
      const known = (await admin.describeAcls({ filter: rule })) as readonly unknown[]
      return known.length > 0
    })
  }

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
})
