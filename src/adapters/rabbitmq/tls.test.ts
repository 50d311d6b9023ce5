import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Certificates, hasOpenssl, makeCertificates } from '../../../test/faults/certificates.ts'
import { makeEvent, takeOne } from '../../../test/rabbitmq/desk.ts'
import { describeOwnBroker, type OwnBroker, ownBroker } from '../../../test/rabbitmq/own-broker.ts'
import { freePorts } from '../../../test/services/ports.ts'
import type { Fact } from '../../contracts/journal.ts'
import type { Transport } from '../../contracts/transport.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { loadClient } from './client.ts'
import { openTransport } from './index.ts'
import { readUrl } from './settings.ts'

const SECRET = 'not-to-be-shown'
const NO_OPENSSL = 'openssl is not on this machine'

describeOwnBroker('RabbitMQ by TLS', () => {
  const dir = mkdtempSync(join(tmpdir(), 'reprieve-tls-'))
  const facts: Fact[] = []
  const opened: Transport[] = []
  let files: Certificates
  let own: OwnBroker
  let port: number

  beforeAll(async () => {
    if (!hasOpenssl) return
    files = makeCertificates(dir)
    ;[port] = (await freePorts(1)) as [number]
    own = await ownBroker([
      `listeners.ssl.1 = 127.0.0.1:${port}`,
      `ssl_options.cacertfile = ${files.ca}`,
      `ssl_options.certfile = ${files.server.cert}`,
      `ssl_options.keyfile = ${files.server.key}`,
      'ssl_options.verify = verify_peer',
      'ssl_options.fail_if_no_peer_cert = true',
    ])
    await own.control('add_user', 'ann', SECRET)
    await own.control('set_permissions', 'ann', '.*', '.*', '.*')
  })
  afterAll(async () => {
    for (const transport of opened) await transport.close()
    await own?.close()
    rmSync(dir, { recursive: true, force: true })
  })

  const open = async (url: string, env: Record<string, string> = {}): Promise<Transport> => {
    const tools = { clock: systemClock, dice: systemDice(), journal: (fact: Fact) => void facts.push(fact) }
    const transport = await openTransport(await loadClient(), readUrl(url, env), tools)
    opened.push(transport)
    return transport
  }

  const ours = () => `cert=${files.client.cert}&key=${files.client.key}`

  /** What a person would see of it, its cause included. */
  const refusal = async (url: string, env?: Record<string, string>): Promise<string> => {
    const error = await open(url, env).then(
      () => new Error('it was let in'),
      (reason: Error) => reason,
    )
    const { fix = '' } = error as { fix?: string }
    const seen = `${error.message}\n${fix}\n${String(error.cause)}\n${error.stack}`
    expect(seen).not.toContain(SECRET)
    return `${error.message} · ${fix}`
  }

  it('carries events where the URL names its authority, with credentials of the URL', async (test) => {
    if (!hasOpenssl) return test.skip(NO_OPENSSL)
    const transport = await open(`amqps://ann:${SECRET}@127.0.0.1:${port}?ca=${files.ca}&${ours()}`)
    const inlet = await transport.subscribe({
      service: 'safe',
      topic: 'safe.topic',
      consumerGroup: 'safe',
      types: ['*'],
      order: 'none',
      lease: 1000,
      window: 10,
      destinations: [{ name: 'safe.dlq' }],
    })
    const event = makeEvent()
    await transport.publish('safe.topic', [event])
    expect((await takeOne(inlet)).parcel.event).toEqual(event)
  })

  it('takes user, password and files from the environment', async (test) => {
    if (!hasOpenssl) return test.skip(NO_OPENSSL)
    const env = {
      REPRIEVE_RABBITMQ_USER: 'ann',
      REPRIEVE_RABBITMQ_PASSWORD: SECRET,
      REPRIEVE_RABBITMQ_CA: files.ca,
      REPRIEVE_RABBITMQ_CERT: files.client.cert,
      REPRIEVE_RABBITMQ_KEY: files.client.key,
    }
    const transport = await open(`amqps://127.0.0.1:${port}`, env)
    await expect(transport.publish('nobody.hears', [makeEvent()])).rejects.toMatchObject({ code: 'unheard' })
  })

  it('a broker that asks for a certificate of ours refuses whoever has none, or a stranger’s', async (test) => {
    if (!hasOpenssl) return test.skip(NO_OPENSSL)
    const at = `amqps://ann:${SECRET}@127.0.0.1:${port}?ca=${files.ca}`
    const theirs = `&cert=${files.stranger}&key=${files.stranger.replace('.pem', '.key')}`
    for (const by of ['', theirs]) {
      expect(await refusal(`${at}${by}`)).toMatch(
        /(TLS failed|hung up) .* · look whether the broker asks for a certificate of ours/s,
      )
    }
    await open(`${at}&${ours()}`)
  })

  it('each mistake is told with its fix, and no secret', async (test) => {
    if (!hasOpenssl) return test.skip(NO_OPENSSL)
    const at = `amqps://ann:${SECRET}@127.0.0.1:${port}`
    expect(await refusal(at)).toMatch(/vouched for by nobody we trust .* · name the file .* '\?ca='/s)
    expect(await refusal(`${at}?ca=${files.stranger}`)).toMatch(/vouched for by nobody we trust/)
    expect(await refusal(`${at}?ca=${join(dir, 'none.pem')}`)).toMatch(/none.pem' of 'ca'.*ENOENT/s)
    expect(await refusal(`${at.replace('127.0.0.1', 'localhost')}?ca=${files.ca}`)).toMatch(
      /certificate is not for 'localhost'/,
    )
    expect(await refusal(`${at.replace(String(port), new URL(own.url).port)}?ca=${files.ca}`)).toMatch(
      /speaks no TLS .* amqp:\/\//s,
    )
    expect(await refusal(`amqp://ann:${SECRET}@127.0.0.1:${port}`)).toMatch(/hung up .* amqps:\/\//s)
    expect(await refusal(`amqps://bob:${SECRET}@127.0.0.1:${port}?ca=${files.ca}&${ours()}`)).toMatch(
      /the user 'bob' was refused .* mend user and password/s,
    )
    const wrong = { REPRIEVE_RABBITMQ_USER: 'ann', REPRIEVE_RABBITMQ_PASSWORD: `${SECRET}-2` }
    expect(await refusal(`amqps://127.0.0.1:${port}?ca=${files.ca}&${ours()}`, wrong)).toMatch(
      /the user 'ann' was refused/,
    )
    expect(JSON.stringify(facts)).not.toContain(SECRET)
  })
})
