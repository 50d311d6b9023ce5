import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { alone, intact, place } from './cache.ts'
import { freePorts } from './ports.ts'
import { alive, end, identify, launch, type Process } from './processes.ts'
import { openRoster } from './roster.ts'
import { withoutPassword } from './say.ts'
import type { Server } from './server.ts'
import { servers } from './servers.ts'
import { openSession } from './session.ts'
import { describeWith } from './urls.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-services-test-'))
const cache = join(folder, 'cache')
process.env.XDG_CACHE_HOME = cache // this file's process only: the real cache is not for playing
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let rosters = 0
const newRoster = () => openRoster(join(folder, `roster-${rosters++}`))

/** A server that is nothing but a sleeping process: enough to prove who starts and stops what. */
function sleeper(changes: Partial<Server> = {}): Server {
  return {
    name: 'sleeper',
    env: 'REPRIEVE_TEST_SLEEPER',
    find: async () => ({ home: 'sleep', version: '1', how: 'installed' }),
    get: async () => ({ home: 'sleep', version: '1', how: 'fetched' }),
    start: async (program, dir, started) => {
      started(launch(dir, program.home, ['60'], process.env))
      return 'sleep://127.0.0.1'
    },
    ping: async () => '1',
    ...changes,
  }
}

function cli(...args: string[]) {
  const env = { ...process.env, REPRIEVE_SERVICES_STATE: join(folder, 'cli') }
  const run = promisify(execFile)(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], { env })
  return run.then(
    ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
}

describeWith('amqp', 'RabbitMQ', (url) => {
  it('carries a message', async () => {
    const { connect } = await import('amqplib')
    const connection = await connect(url)
    const channel = await connection.createConfirmChannel()
    const { queue } = await channel.assertQueue('', { exclusive: true })
    channel.sendToQueue(queue, Buffer.from('here'))
    await channel.waitForConfirms()
    const got = await channel.get(queue, { noAck: true })
    expect(got).toMatchObject({ content: Buffer.from('here') })
    await connection.close()
  })
})

describeWith('kafka', 'Kafka', (url) => {
  it('carries a message', async () => {
    const { Admin, Consumer, Producer, stringDeserializers, stringSerializers } = await import(
      '@platformatic/kafka'
    )
    const common = { clientId: 'services-test', bootstrapBrokers: url.split(',') }
    const topic = `services-test-${process.pid}-${Date.now()}`
    const admin = new Admin(common)
    const producer = new Producer({ ...common, serializers: stringSerializers })
    const consumer = new Consumer({ ...common, groupId: topic, deserializers: stringDeserializers })
    try {
      await admin.createTopics({ topics: [topic], partitions: 1, replicas: 1 })
      await producer.send({ messages: [{ topic, value: 'here' }] })
      const stream = await consumer.consume({ topics: [topic], mode: 'earliest', autocommit: false })
      for await (const message of stream) {
        expect(message.value).toBe('here')
        break
      }
    } finally {
      await consumer.close(true)
      await producer.close()
      await admin.deleteTopics({ topics: [topic] })
      await admin.close()
    }
  })
})

describeWith('postgres', 'PostgreSQL', (url) => {
  it('keeps a row', async () => {
    const { Client } = (await import('pg')).default
    const client = new Client({ connectionString: url })
    await client.connect()
    try {
      await client.query('CREATE TEMPORARY TABLE kept (word text)')
      await client.query('INSERT INTO kept VALUES ($1)', ['here'])
      expect((await client.query('SELECT word FROM kept')).rows).toEqual([{ word: 'here' }])
    } finally {
      await client.end()
    }
  })
})

describeWith('redis', 'Redis', (url) => {
  it('keeps a value', async () => {
    const { createClient } = await import('@redis/client')
    const client = await createClient({ url }).connect()
    const key = `services-test-${process.pid}-${Date.now()}`
    try {
      await client.set(key, 'here', { expiration: { type: 'EX', value: 60 } })
      expect(await client.get(key)).toBe('here')
    } finally {
      client.destroy()
    }
  })
})

describe('a session', () => {
  it.each(servers)('reports $name as not had when its variable lies', async (server) => {
    const [port] = await freePorts(1)
    const scheme = {
      rabbitmq: 'amqp://me:secret@',
      kafka: '',
      postgres: 'postgres://me:secret@',
      redis: 'redis://me:secret@',
    }[server.name]
    const url = `${scheme}127.0.0.1:${port}`
    const session = openSession([server], { env: { [server.env]: url }, roster: newRoster() })
    const [outcome] = await session.outcomes
    expect(outcome).toEqual({
      had: false,
      name: server.name,
      env: server.env,
      reason: `${server.env} names ${withoutPassword(url)}, which does not answer: connect ECONNREFUSED 127.0.0.1:${port}`,
    })
    expect(JSON.stringify(outcome)).not.toContain('secret')
  })

  it('reports the reason when a server can neither be found nor got', async () => {
    const get = () => Promise.reject(new Error('no such shop'))
    const session = openSession([sleeper({ find: async () => undefined, get })], { roster: newRoster() })
    expect(await session.outcomes).toMatchObject([{ had: false, name: 'sleeper', reason: 'no such shop' }])
  })

  it('fetches once when two want the same at once', async () => {
    let fetched = 0
    const get: Server['get'] = async () => {
      fetched++
      return { home: 'sleep', version: '1', how: 'fetched' }
    }
    const find: Server['find'] = async () =>
      fetched ? { home: 'sleep', version: '1', how: 'cache' } : undefined
    const sessions = [1, 2].map(() => openSession([sleeper({ find, get })], { roster: newRoster() }))
    const outcomes = await Promise.all(sessions.map(async (session) => (await session.outcomes)[0]))
    expect(outcomes.map((outcome) => outcome?.had && outcome.how).sort()).toEqual(['cache', 'fetched'])
    await Promise.all(sessions.map((session) => session.close()))
  })

  it('stops what it started and removes its folder', async () => {
    const roster = newRoster()
    const session = openSession([sleeper()], { roster })
    await session.outcomes
    const [entry] = roster.list()
    expect(entry?.processes.every(alive)).toBe(true)
    await session.close()
    expect(entry?.processes.some(alive)).toBe(false)
    expect(existsSync(entry!.dir)).toBe(false)
    expect(roster.list()).toEqual([])
  })

  it('stops a server that is still starting', async () => {
    const roster = newRoster()
    const born: Process[] = []
    let begun = () => {}
    const waiting = new Promise<void>((resolve) => (begun = resolve))
    const start: Server['start'] = async (program, dir, started) => {
      for (;;) {
        const pid = launch(dir, program.home, ['60'], process.env)
        born.push(identify(pid)!)
        begun()
        started(pid)
        await new Promise((resolve) => setTimeout(resolve, 30))
      }
    }
    const session = openSession([sleeper({ start })], { roster })
    await waiting
    await session.close()
    expect(await session.outcomes).toMatchObject([{ had: false }])
    await expect.poll(() => born.some(alive)).toBe(false)
    expect(roster.list()).toEqual([])
  })

  it('sweeps up what a killed run left behind', async () => {
    const roster = newRoster()
    const gone = spawn('sleep', ['60'])
    const owner = identify(gone.pid!)!
    const closed = new Promise((resolve) => gone.on('close', resolve))
    gone.kill('SIGKILL')
    await closed
    const dir = mkdtempSync(join(folder, 'orphan-'))
    const orphan = identify(launch(dir, 'sleep', ['60'], process.env))!
    const rest = { env: 'REPRIEVE_TEST_SLEEPER', version: '1', how: 'installed', since: '' } as const
    roster.write({ name: 'sleeper', dir, processes: [orphan], owner, ...rest })
    await openSession([], { roster }).outcomes
    expect(alive(orphan)).toBe(false)
    expect(existsSync(dir)).toBe(false)
    expect(roster.list()).toEqual([])
  })

  it('asks a server to end by the signal that it named', async () => {
    const roster = newRoster()
    const say = `process.on('SIGINT', () => process.exit()); process.on('SIGTERM', () => {}); setInterval(() => {}, 1e3); console.log('up')`
    const start: Server['start'] = async (_, dir, started) => {
      started(launch(dir, process.execPath, ['-e', say], process.env), 'SIGINT')
      await expect.poll(() => readFileSync(join(dir, 'out.log'), 'utf8')).toBe('up\n')
      return 'stubborn://'
    }
    const session = openSession([sleeper({ start })], { roster })
    await session.outcomes
    const [entry] = roster.list()
    const begun = performance.now()
    await session.close()
    expect(performance.now() - begun).toBeLessThan(10_000) // SIGTERM, ignored, is waited for 15 s
    expect(entry?.processes.some(alive)).toBe(false)
  })

  it('never signals a stranger who was given an old pid', async () => {
    const stranger = identify(process.pid)!
    await end({ pid: stranger.pid, born: 'long ago' })
    expect(alive(stranger)).toBe(true)
  })
})

describe('the cache', () => {
  const home = join(cache, 'reprieve', 'services', 'thing')

  it('holds a folder whole or not at all, and knows damage', async () => {
    await alone('thing', async () => {
      const cut = place(home, () => Promise.reject(new Error('cable pulled')))
      await expect(cut).rejects.toThrow('cable pulled')
      expect(existsSync(home)).toBe(false)
      await place(home, async (part) => writeFileSync(join(part, 'a.jar'), 'all of it'))
    })
    expect(await intact(home)).toBe(true)
    truncateSync(join(home, 'a.jar'), 3)
    expect(await intact(home)).toBe(false)
  })
})

describe('npm run services', () => {
  it('prints a table when nothing is up', async () => {
    const { code, stdout } = await cli('status')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^service +state .*\n-+.*\nrabbitmq +down\nkafka +down\npostgres +down\nredis +down\n$/,
    )
  })

  it('tells programs the same', async () => {
    const { stdout } = await cli('status', '--json', 'kafka')
    expect(JSON.parse(stdout)).toEqual([{ name: 'kafka', env: 'REPRIEVE_TEST_KAFKA', state: 'down' }])
  })

  it('has nothing to stop when nothing is up', async () => {
    expect((await cli('down')).stdout).toBe('nothing was up\n')
  })

  it.each([
    [['sideways'], "there is no command 'sideways'"],
    [[], 'a command is missing'],
    [['up', 'mongo'], "there is no service 'mongo'; there are: rabbitmq, kafka, postgres, redis"],
    [['status', '--loud'], "Unknown option '--loud'"],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await cli(...args)
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })
})
