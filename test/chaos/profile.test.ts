import { randomUUID } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'amqplib'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { type Reprieve, reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { openProxy } from '../faults/proxy.ts'
import { folderWith, root, startNode } from '../scenarios/child.ts'
import { serviceUrl } from '../services/urls.ts'
import { describeOwn, ownPostgres } from '../stores/own-server.ts'
import { until } from '../until.ts'

const EXAMPLE = join(root, 'examples/profile')
const SUBJECTS = 20
const QUICK = {
  RETRY_INITIAL_DELAY: '100ms',
  RETRY_MAX_DELAY: '1s',
  BREAKER_RESET_TIMEOUT: '500ms',
  DATABASE_TIMEOUT_MS: '1500',
}

/** The example under names that nobody else has on the broker. */
const exampleAs = (service: string) => {
  const cwd = folderWith()
  const named = (text: string) =>
    text
      .replaceAll("'profile'", `'${service}'`)
      .replaceAll('\n  profile:\n    policy:', `\n  ${service}:\n    policy:`)
      .replaceAll('registration: [', `${service}.registration: [`)
  for (const file of ['handlers.ts', 'reprieve.yaml'])
    writeFileSync(join(cwd, file), named(readFileSync(join(EXAMPLE, file), 'utf8')))
  cpSync(join(EXAMPLE, 'profiles.ts'), join(cwd, 'profiles.ts'))
  mkdirSync(join(cwd, 'node_modules'))
  symlinkSync(root, join(cwd, 'node_modules/reprieve'))
  symlinkSync(join(root, 'node_modules/pg'), join(cwd, 'node_modules/pg'))
  return cwd
}

type Row = { readonly subject: string; readonly email: string }

/** Publishes, and knows what the table must hold in the end. */
const teller = (app: Reprieve) => {
  const rows = new Map<string, string>()
  let told = 0
  return {
    rows: (): readonly Row[] =>
      [...rows]
        .map(([subject, email]) => ({ subject, email }))
        .sort((a, b) => (a.subject < b.subject ? -1 : 1)),
    tell: async (count: number) => {
      for (let n = 0; n < count; n++) {
        const number = told++
        const subject = `user-${String(number % SUBJECTS).padStart(2, '0')}`
        const email = `${number}@example.org`
        const type = ['user.registered', 'user.updated', 'user.updated', 'user.deleted', 'user.registered'][
          Math.floor(number / SUBJECTS) % 5
        ]!
        if (type === 'user.deleted') rows.delete(subject)
        else if (type === 'user.updated' || !rows.has(subject)) rows.set(subject, email)
        const data = { subject, email, firstName: 'F', lastName: 'L' }
        await app.publish(type, data, { orderKey: subject })
      }
    },
  }
}

describeOwn('postgres', 'the profile service under fire', () => {
  const amqp = serviceUrl('amqp')
  // skipped where no RabbitMQ is given
  it.skipIf(!amqp)(
    'ends with the right rows: database killed and started again or silent, broker connection dropped, high latency',
    async () => {
      const service = `profile-${randomUUID().slice(0, 13)}`
      const database = await ownPostgres()
      onTestFinished(() => database.close())
      const toDatabase = await openProxy(database.url)
      const toBroker = await openProxy(amqp!)
      onTestFinished(() => Promise.all([toDatabase.close(), toBroker.close()]).then(() => {}))
      const cwd = exampleAs(service)
      const store = `sqlite:${join(cwd, 'store.db')}`
      const env = { ...QUICK, PROFILE_DATABASE: toDatabase.url }
      const main = join(root, 'src/cli/main.ts')
      const options = ['--rules', 'reprieve.yaml', '--transport', toBroker.url, '--store', store]
      const child = startNode(['--conditions=source', main, 'run', 'handlers.ts', ...options], { cwd, env })

      const book = readRules(readFileSync(join(cwd, 'reprieve.yaml'), 'utf8'), 'reprieve.yaml', QUICK)
      const open = (file: string) => reprieve({ transport: amqp!, store: file, rules: book, office: false })
      const app = await open(`sqlite:${join(cwd, 'publisher.db')}`)
      onTestFinished(() => app.close())
      onTestFinished(() => clear(amqp!, `${service}.${service}.registration`))
      const { tell, rows } = teller(app)
      const inTable = async (): Promise<readonly Row[]> => {
        const client = new pg.Client({ connectionString: database.url })
        await client.connect()
        const answer = client.query('SELECT subject, email FROM profile ORDER BY subject')
        return (await answer.finally(() => client.end())).rows
      }
      const settled = async () => {
        const wanted = JSON.stringify(rows())
        await until(`the rows ${wanted}`, async () => {
          const found = await inTable().catch(() => undefined) // it may be starting, or have no table yet
          return JSON.stringify(found) === wanted
        })
      }

      await child.said(service)
      await tell(100)
      await settled()

      await database.kill()
      await tell(60)
      await sleep(2000)
      await database.start()
      await settled()

      // nobody tells the connections that they are dead
      toDatabase.freeze()
      await tell(60)
      await sleep(2000)
      toDatabase.admit()
      await settled()

      toBroker.cutEvery(250)
      await tell(100)
      await sleep(1000)
      toBroker.admit()
      await settled()

      toDatabase.delay(150)
      toBroker.delay(100)
      await tell(60)
      await settled()
      toDatabase.admit()
      toBroker.admit()

      child.signal('SIGTERM')
      expect((await child.ended).code).toBe(0)
      await using after = await open(store)
      await after.office.catchUp(await after.knownDestinations(), new AbortController().signal)
      // an outage is nobody's fault: nothing was buried
      expect((await after.office.list({}, 10)).map(({ letter }) => letter.error)).toEqual([])
      expect(await inTable()).toEqual(rows())
    },
  )
})

const KINDS = ['schema', 'business', 'integration', 'timeout', 'auth', 'crash', 'expired', 'handler']

const clear = async (url: string, queue: string): Promise<void> => {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  for (const each of [queue, `${queue}.dlq`, ...KINDS.map((kind) => `${queue}.dlq.quarantine.${kind}`)])
    await channel.deleteQueue(each)
  await channel.deleteExchange(`${queue}.dlx`)
  await connection.close()
}
