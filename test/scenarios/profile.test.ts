import { randomUUID } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'amqplib'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { describeWith, serviceUrl } from '../services/urls.ts'
import { cli, folderWith, root, startNode } from './child.ts'

const EXAMPLE = join(root, 'examples/profile')
const expected = readFileSync(join(EXAMPLE, 'expected-output.txt'), 'utf8')

/** The example as someone has it who installed the packages: in a folder of its own, by their public names. */
const runExample = (env: Readonly<Record<string, string>> = {}, cwd = folderWith()) => {
  for (const file of ['try.ts', 'handlers.ts', 'profiles.ts', 'reprieve.yaml'])
    cpSync(join(EXAMPLE, file), join(cwd, file))
  mkdirSync(join(cwd, 'node_modules'))
  symlinkSync(root, join(cwd, 'node_modules/reprieve'))
  symlinkSync(join(root, 'node_modules/pg'), join(cwd, 'node_modules/pg'))
  return startNode(['--conditions=source', 'try.ts'], { cwd, env }).ended
}

const asExpected = { code: 0, stdout: expected, stderr: '' }

/** A vhost would do as well, but needs rights: the example's own names, cleared away before and after. */
const clearBroker = async (url: string): Promise<void> => {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  const kinds = [
    '',
    '.dlq',
    ...['schema', 'business', 'integration', 'timeout', 'auth', 'crash', 'expired', 'handler'].map(
      (kind) => `.dlq.quarantine.${kind}`,
    ),
  ]
  for (const kind of kinds) await channel.deleteQueue(`profile.registration${kind}`)
  await channel.deleteExchange('profile.registration.dlx')
  await connection.close()
}

const freshDatabase = async (url: string): Promise<string> => {
  const name = `profile_${randomUUID().replaceAll('-', '')}`
  const ask = async (sql: string) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(sql).finally(() => client.end())
  }
  await ask(`CREATE DATABASE ${name}`)
  onTestFinished(() => ask(`DROP DATABASE ${name} WITH (FORCE)`))
  const own = new URL(url)
  own.pathname = `/${name}`
  return own.href
}

describe('the profile service', () => {
  it('prints what it says it prints, on SQLite with nothing to install', async () => {
    expect(await runExample()).toEqual(asExpected)
  })

  it('leaves its dead letter where the command line looks for it, with the same variables', async () => {
    const cwd = folderWith()
    await runExample({}, cwd)
    const { stdout } = await cli(['dlq', 'list', '--rules', 'reprieve.yaml'], { cwd })
    expect(stdout).toContain('it has no email address')
  })
})

describeWith('amqp', 'the profile service on RabbitMQ', (amqp) => {
  // skipped where no PostgreSQL is given
  it.skipIf(!serviceUrl('postgres'))('prints the same with PostgreSQL beside it', async () => {
    const database = await freshDatabase(serviceUrl('postgres')!)
    await clearBroker(amqp)
    onTestFinished(() => clearBroker(amqp))
    expect(await runExample({ REPRIEVE_TRANSPORT: amqp, PROFILE_DATABASE: database })).toEqual(asExpected)
  })
})
