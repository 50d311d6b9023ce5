import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import {
  AclOperations,
  AclPermissionTypes,
  Admin,
  ResourcePatternTypes,
  ResourceTypes,
} from '@platformatic/kafka'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Certificates, hasOpenssl, makeCertificates } from '../../../test/faults/certificates.ts'
import { describeOwnKafka, type OwnKafka, ownKafka } from '../../../test/kafka/own-kafka.ts'
import { freePorts } from '../../../test/services/ports.ts'
import { until } from '../../../test/until.ts'
import type { Fact } from '../../contracts/journal.ts'
import { ReprieveError } from '../../core/error.ts'
import { realWorld } from '../../testing/trials/index.ts'
import { ackAll, makeEvents, makeSubscription, settleAll, take } from '../../testing/trials/kit.ts'
import { failedOnce } from '../../testing/trials/samples.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { doctor } from './doctor.ts'
import { open } from './index.ts'
import { retryTopics } from './tiers.ts'

type ResourceType = keyof typeof ResourceTypes
type Right = keyof typeof AclOperations

const PASSWORD = 's3cret@word'
const ENCODED = encodeURIComponent(PASSWORD)

describeOwnKafka('kafka behind TLS and passwords', () => {
  const dir = mkdtempSync(join(tmpdir(), 'reprieve-secure-'))
  const facts: Fact[] = []
  const tools = { clock: systemClock, dice: systemDice(), journal: (fact: Fact) => void facts.push(fact) }
  let files: Certificates
  let kafka: OwnKafka | undefined
  let tls: number
  let sasl: number
  let both: number
  let mutual: number
  let narrow: number

  beforeAll(async () => {
    if (!hasOpenssl) return
    files = makeCertificates(dir)
    const store = join(dir, 'store.pem')
    writeFileSync(store, readFileSync(files.server.key, 'utf8') + readFileSync(files.server.cert, 'utf8'))
    ;[tls, sasl, both, mutual, narrow] = (await freePorts(5)) as [number, number, number, number, number]
    const ports = { TLS: tls, SASL: sasl, BOTH: both, MUTUAL: mutual, NARROW: narrow }
    const extra = Object.entries(ports).map(([name, port]) => `${name}://127.0.0.1:${port}`)
    const modules = 'org.apache.kafka.common.security'
    const users = Object.fromEntries(
      ['sasl', 'both'].flatMap((listener) => [
        [
          `listener.name.${listener}.plain.sasl.jaas.config`,
          `${modules}.plain.PlainLoginModule required user_ann="${PASSWORD}" user_bob="${PASSWORD}";`,
        ],
        ...['scram-sha-256', 'scram-sha-512'].map((scram) => [
          `listener.name.${listener}.${scram}.sasl.jaas.config`,
          `${modules}.scram.ScramLoginModule required;`,
        ]),
      ]),
    )
    kafka = await ownKafka({
      scram: ['SCRAM-SHA-256', 'SCRAM-SHA-512'].map((scram) => `${scram}=[name=ann,password=${PASSWORD}]`),
      settings: (usual) => ({
        listeners: `${usual.listeners},${extra}`,
        'advertised.listeners': `${usual['advertised.listeners']},${extra}`,
        'listener.security.protocol.map':
          'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TLS:SSL,SASL:SASL_PLAINTEXT,BOTH:SASL_SSL,MUTUAL:SSL,NARROW:SASL_PLAINTEXT',
        'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'super.users': 'User:ANONYMOUS;User:ann;User:CN=client',
        'ssl.keystore.type': 'PEM',
        'ssl.keystore.location': store,
        'listener.name.mutual.ssl.client.auth': 'required',
        'listener.name.mutual.ssl.truststore.type': 'PEM',
        'listener.name.mutual.ssl.truststore.location': files.ca,
        ...users,
        'listener.name.narrow.sasl.enabled.mechanisms': 'PLAIN',
        'listener.name.narrow.plain.sasl.jaas.config': users['listener.name.sasl.plain.sasl.jaas.config']!,
      }),
    })
  })
  afterAll(async () => {
    await kafka?.close()
    rmSync(dir, { recursive: true, force: true })
  })

  /** Publishes, puts off, takes again: every connection there is. */
  const works = async (url: string) => {
    const world = realWorld(open, url, tools)
    const { transport } = await open(url, tools)
    try {
      const to = makeSubscription(world)
      const inlet = await transport.subscribe(to)
      await transport.publish(to.topic, makeEvents(world, 3))
      const got = await take(world, inlet, 3)
      await settleAll(
        inlet,
        got.map((delivery) => ({ do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 0) })),
      )
      await ackAll(inlet, await take(world, inlet, 3))
    } finally {
      await transport.close()
    }
  }
  const refusal = async (url: string): Promise<ReprieveError> => {
    const since = Date.now()
    const error: unknown = await open(url, tools).then(
      () => 'opened',
      (reason) => reason,
    )
    expect(error).toBeInstanceOf(ReprieveError)
    expect(Date.now() - since).toBeLessThan(20_000)
    expect(inspect(error, { depth: 20, showHidden: true })).not.toMatch(/s3cret|wr0ng/)
    return error as ReprieveError
  }

  it('works by TLS, by SASL, and by both, with each mechanism', async (test) => {
    if (!hasOpenssl) return test.skip('openssl is not on this machine')
    await works(`kafka://127.0.0.1:${tls}?ca=${files.ca}`)
    await works(`kafka://ann:${ENCODED}@127.0.0.1:${sasl}`)
    await works(`kafka://ann:${ENCODED}@127.0.0.1:${sasl}?sasl=scram-sha-256`)
    await works(`kafka://ann:${ENCODED}@127.0.0.1:${both}?sasl=scram-sha-512&ca=${files.ca}`)
    expect(JSON.stringify(facts)).not.toMatch(/s3cret/)
  })

  it('takes user, password and authority from the environment', async (test) => {
    if (!hasOpenssl) return test.skip('openssl is not on this machine')
    const mine = { USER: 'ann', PASSWORD, CA: files.ca }
    for (const [name, value] of Object.entries(mine)) process.env[`REPRIEVE_KAFKA_${name}`] = value
    try {
      await works(`kafka://127.0.0.1:${both}?sasl=plain`)
    } finally {
      for (const name of Object.keys(mine)) delete process.env[`REPRIEVE_KAFKA_${name}`]
    }
  })

  it('says what is wrong with password, mechanism, authority and port, each with its fix and no secret', async (test) => {
    if (!hasOpenssl) return test.skip('openssl is not on this machine')
    for (const scheme of ['plain', 'scram-sha-256']) {
      const wrong = await refusal(`kafka://ann:wr0ng@127.0.0.1:${sasl}?sasl=${scheme}`)
      expect(wrong.fix).toMatch(/mend user and password .* REPRIEVE_KAFKA_USER and REPRIEVE_KAFKA_PASSWORD/)
    }
    expect((await refusal(`kafka://127.0.0.1:${tls}?ca=${files.stranger}`)).fix).toMatch(/'\?ca='/)
    expect((await refusal(`kafka://127.0.0.1:${tls}?tls=true`)).fix).toMatch(/REPRIEVE_KAFKA_CA/)
    expect((await refusal(`kafka://${kafka!.brokers[0]}?tls=true`)).fix).toMatch(
      /'\?tls=false' where REPRIEVE_KAFKA_CA .* without TLS/,
    )
    for (const port of [tls, both]) {
      expect((await refusal(`kafka://127.0.0.1:${port}`)).fix).toMatch(/tls=true/)
      const named = await refusal(`kafka://ann:${ENCODED}@127.0.0.1:${port}`)
      expect(named.fix).toMatch(/wants TLS write '\?tls=true'/)
      expect(named.fix).not.toMatch(/do not take/)
    }
    const nameless = await refusal(`kafka://127.0.0.1:${both}?ca=${files.ca}`)
    expect(nameless.fix).toMatch(/wants credentials name a user/)
    const other = await refusal(`kafka://ann:${ENCODED}@127.0.0.1:${narrow}?sasl=scram-sha-512`)
    expect(other.fix).toMatch(/do not take SCRAM-SHA-512.*'\?sasl='/)
    const absent = await refusal(`kafka://127.0.0.1:${tls}?ca=/nowhere/ca.pem`)
    expect(absent.message).toMatch(/'\/nowhere\/ca\.pem' of 'ca' .*ENOENT/)
  })

  it('shows its own certificate where the brokers ask for one, and is told where it has none', async (test) => {
    if (!hasOpenssl) return test.skip('openssl is not on this machine')
    const { cert, key } = files.client
    await works(`kafka://127.0.0.1:${mutual}?ca=${files.ca}&cert=${cert}&key=${key}`)
    const bare = await refusal(`kafka://127.0.0.1:${mutual}?ca=${files.ca}`)
    expect(bare.fix).toMatch(/certificate of ours \('\?cert=' and '\?key='/)
    const unknown = await refusal(
      `kafka://127.0.0.1:${mutual}?ca=${files.ca}&cert=${files.stranger}&key=${files.stranger.replace(/pem$/, 'key')}`,
    )
    expect(unknown.fix).toMatch(/certificate of ours/)
  })

  it('names the topics that a user may not see, and what to allow', async (test) => {
    if (!hasOpenssl) return test.skip('openssl is not on this machine')
    const url = `kafka://bob:${ENCODED}@127.0.0.1:${sasl}`
    const world = realWorld(open, `kafka://${kafka!.brokers[0]}`, tools)
    const to = makeSubscription(world)
    const { transport } = await open(url, tools)
    try {
      for (const ask of [
        () => transport.subscribe(to),
        () => transport.publish(to.topic, makeEvents(world, 1)),
      ]) {
        const error: unknown = await ask().then(
          () => 'it was allowed',
          (reason: unknown) => reason,
        )
        expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining(to.topic) })
        expect(error).toHaveProperty(
          'fix',
          expect.stringMatching(/allow this user Describe.*reprieve doctor/),
        )
      }
    } finally {
      await transport.close()
    }
  })

  it('the doctor tells a user whom the brokers allow little what else it needs', async (test) => {
    if (!hasOpenssl) return test.skip('openssl is not on this machine')
    const world = realWorld(open, `kafka://${kafka!.brokers[0]}`, tools)
    const to = { ...makeSubscription(world), transactions: true }
    const { transport } = await open(`kafka://${kafka!.brokers[0]}`, tools)
    await transport.subscribe(to)
    const theirs = { name: `${to.topic}.DLT`, keep: 1000 }
    await (await transport.collect({ name: theirs.name })).close()
    await transport.close()
    const receipts = `${to.service}.receipts`
    const offices = [...to.destinations, theirs].map(({ name }) => `reprieve-office.${name}`)
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: [...kafka!.brokers] })
    const allow = (type: ResourceType, resourceName: string, ...operations: Right[]) =>
      admin.createAcls({
        creations: operations.map((operation) => ({
          resourceType: ResourceTypes[type],
          resourceName,
          resourcePatternType: ResourcePatternTypes.LITERAL,
          principal: 'User:bob',
          host: '*',
          operation: AclOperations[operation],
          permissionType: AclPermissionTypes.ALLOW,
        })),
      })
    const needs = { attempt: 1000, unsettled: 5000, retries: 60_000, retention: 60_000 }
    const told = async () => {
      const url = `kafka://bob:${ENCODED}@127.0.0.1:${sasl}?session=1000&heartbeat=100`
      const asked = { subscriptions: [{ to, ...needs }], foreign: [theirs], receipts: `${receipts}.0` }
      const findings = await doctor.examine(url, asked, tools)
      return findings
        .filter(({ level, check }) => level !== 'fine' && check !== 'kafka-replication')
        .map(
          ({ level, check, where, what, why }) =>
            `${level} ${check} ${where}: ${what}${where === 'topics' ? ` (${why})` : ''}`,
        )
    }
    const [grave] = to.destinations
    const waits = retryTopics(to.consumerGroup)
    await allow('TOPIC', to.topic, 'DESCRIBE')
    for (const name of waits) await allow('TOPIC', name, 'READ', 'WRITE')
    await allow('TOPIC', grave!.name, 'READ')
    await allow('TOPIC', theirs.name, 'DESCRIBE')
    // who looks after it may be told, and nothing more
    await allow('GROUP', to.consumerGroup, 'DESCRIBE')
    const little = await until('what bob may do', async () => {
      const lines = await told()
      // brokers hear of it one after the other
      return lines.some((line) => line.includes(grave!.name)) && lines
    })
    expect(little).toEqual(
      expect.arrayContaining([
        `wrong kafka-permissions ${to.topic}: this user may not Read`,
        `wrong kafka-permissions ${grave!.name}: this user may not Write`,
        `risky kafka-permissions ${waits[0]}: this user may not Delete`,
        `wrong kafka-permissions ${theirs.name}: this user may not Read`,
        ...[to.consumerGroup, ...offices, `reprieve-office.${receipts}.0`].map(
          (group) => `wrong kafka-permissions consumer group ${group}: this user may not use it`,
        ),
        expect.stringMatching(
          /^wrong kafka-permissions topics: 1 are not there, and could not be made: .*quarantine/,
        ),
        expect.stringMatching(
          /^wrong kafka-permissions .*receipts\.\*: there is none, and it could not be made/,
        ),
        'wrong kafka-permissions transactional ids reprieve-*: this user may not use them',
        expect.stringMatching(/^risky kafka-permissions the settings of brokers: can't be seen/),
        expect.stringMatching(/^risky kafka-permissions the settings of topics: can't be seen/),
      ]),
    )
    await allow('TOPIC', to.topic, 'READ', 'DESCRIBE_CONFIGS')
    for (const name of waits) await allow('TOPIC', name, 'DELETE', 'DESCRIBE_CONFIGS')
    for (const { name } of to.destinations) await allow('TOPIC', name, 'READ', 'WRITE', 'DESCRIBE_CONFIGS')
    await allow('TOPIC', theirs.name, 'READ', 'DESCRIBE_CONFIGS')
    await allow('TOPIC', `${receipts}.0`, 'CREATE')
    for (const group of [to.consumerGroup, ...offices, `reprieve-office.${receipts}.0`])
      await allow('GROUP', group, 'READ')
    await allow('TRANSACTIONAL_ID', 'reprieve-doctor', 'WRITE')
    await allow('CLUSTER', 'kafka-cluster', 'DESCRIBE_CONFIGS')
    await admin.close()
    await until(
      'that bob may do all of it',
      async () => !(await told()).some((line) => /permissions/.test(line)),
    )
    expect(await told()).toEqual([
      expect.stringMatching(/^wrong kafka-session \?session=: 1000 ms, and brokers take 6000 to/),
      expect.stringMatching(/^risky kafka-transactions transaction.state.log.replication.factor/),
    ])
  })
})
