import { aptInstall } from './apt.ts'
import { freePorts } from './ports.ts'
import { firstProgram, launch, onPath, run, untilAnswer } from './processes.ts'
import type { Server } from './server.ts'

const PLACES = [
  '/usr/bin/redis-server',
  '/opt/homebrew/opt/redis/bin/redis-server',
  '/usr/local/opt/redis/bin/redis-server',
]
const PASSWORD = 'redis'

/** With a password, so that a wrong one is refused as elsewhere. Every write is on disk before it is answered. */
export const redis: Server = {
  name: 'redis',
  env: 'REPRIEVE_TEST_REDIS',

  async find() {
    const home = onPath('redis-server') ?? firstProgram(PLACES)
    if (home === undefined) return undefined
    const version = /\bv=(\d[\w.]*)/.exec(await run(home, ['--version']))?.[1] ?? '?'
    return { home, version, how: 'installed' }
  },

  async get() {
    await aptInstall(['redis-server'])
    const found = await redis.find()
    if (!found) throw new Error('redis-server was installed, but is in none of its usual places')
    return { ...found, how: 'fetched' }
  },

  async start(program, dir, started) {
    const [port] = (await freePorts(1)) as [number]
    return startRedis(program.home, dir, port, started)
  },

  async ping(url) {
    const { createClient } = await import('@redis/client')
    const client = createClient({ url, socket: { connectTimeout: 2_000, reconnectStrategy: false } })
    client.on('error', () => {})
    await client.connect()
    try {
      return /redis_version:(\S+)/.exec(await client.info('server'))?.[1]
    } finally {
      client.destroy()
    }
  },
}

/** On a port of the caller's choice, so that it can be started again where it was; more settings as `name value`. */
export async function startRedis(
  program: string,
  dir: string,
  port: number,
  started: (pid: number) => void,
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  const all = {
    port: String(port),
    bind: '127.0.0.1',
    dir,
    requirepass: PASSWORD,
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
    'maxmemory-policy': 'noeviction',
    ...settings,
  }
  const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, value])
  const pid = launch(dir, program, args, { PATH: process.env.PATH, LC_ALL: 'C' })
  started(pid)
  const url = `redis://default:${PASSWORD}@127.0.0.1:${port}`
  await untilAnswer(() => redis.ping(url), pid)
  return url
}
