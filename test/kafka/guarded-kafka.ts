import {
  AclOperations,
  AclPermissionTypes,
  Admin,
  ResourcePatternTypes,
  ResourceTypes,
} from '@platformatic/kafka'
import { freePorts } from '../services/ports.ts'
import { until } from '../until.ts'
import { ownKafka } from './own-kafka.ts'

export interface Rule {
  readonly on?: keyof typeof ResourceTypes
  readonly name: string
  readonly right: keyof typeof AclOperations
  readonly says: keyof typeof AclPermissionTypes
}

/** A broker that asks rules what bob may do. Where none is written he may all, and whoever gives no name always may. */
export interface GuardedKafka {
  /** As bob. */
  readonly url: string
  /** As nobody, who may all. */
  readonly openUrl: string
  readonly admin: Admin
  write(rule: Rule): Promise<void>
  strike(rule: Rule): Promise<void>
  close(): Promise<void>
}

export const guardedKafka = async (): Promise<GuardedKafka> => {
  const sasl = (await freePorts(1))[0]!
  const plain = 'org.apache.kafka.common.security.plain.PlainLoginModule'
  const kafka = await ownKafka({
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
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: [...kafka.brokers] })
  const aclOf = ({ on = 'TOPIC', name, right, says }: Rule) => ({
    resourceType: ResourceTypes[on],
    resourceName: name,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: 'User:bob',
    host: '*',
    operation: AclOperations[right],
    permissionType: AclPermissionTypes[says],
  })
  return {
    url: `kafka://bob:word@127.0.0.1:${sasl}`,
    openUrl: `kafka://${kafka.brokers[0]}`,
    admin,
    /** Until the broker has heard of it itself. */
    write: async (rule) => {
      const given = aclOf(rule)
      await admin.createAcls({ creations: [given] })
      await until('the rule', async () => {
        const known = (await admin.describeAcls({ filter: given })) as readonly unknown[]
        return known.length > 0
      })
    },
    strike: async (rule) => void (await admin.deleteAcls({ filters: [aclOf(rule)] })),
    close: async () => {
      await admin.close()
      await kafka.close()
    },
  }
}
