import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect as tcpConnect } from 'node:net'
import { join } from 'node:path'
import { closeQuietly } from '../../src/adapters/rabbitmq/client.ts'
import { aptInstall } from './apt.ts'
import { freePorts } from './ports.ts'
import { firstProgram, launch, onPath, untilAnswer } from './processes.ts'
import type { Server, Started } from './server.ts'

// Debian's program on the PATH is a wrapper that changes the user: the real one comes first.
const PLACES = [
  '/usr/lib/rabbitmq/bin/rabbitmq-server',
  '/opt/homebrew/opt/rabbitmq/sbin/rabbitmq-server',
  '/usr/local/opt/rabbitmq/sbin/rabbitmq-server',
]

export const rabbitmq: Server = {
  name: 'rabbitmq',
  env: 'REPRIEVE_TEST_AMQP',

  async find() {
    // a broker of another version can be tried by naming its program
    const named = process.env.REPRIEVE_RABBITMQ_SERVER
    const home = firstProgram(named ? [named] : PLACES) ?? onPath('rabbitmq-server')
    return home && onPath('epmd') ? { home, version: installedVersion(home), how: 'installed' } : undefined
  },

  async get() {
    await aptInstall(['rabbitmq-server'])
    const found = await rabbitmq.find()
    if (!found) throw new Error('rabbitmq-server was installed, but is in none of its usual places')
    return { ...found, how: 'fetched' }
  },

  async start(program, dir, started) {
    const ports = await brokerPorts()
    await startEpmd(dir, ports, started)
    return startBroker(program.home, dir, ports, started)
  },

  async ping(url) {
    const { connect } = await import('amqplib')
    const connection = await connect(url, { timeout: 2_000 })
    connection.on('error', () => {})
    const { version } = connection.connection.serverProperties
    await closeQuietly(connection)
    return version
  },
}

export interface BrokerPorts {
  readonly port: number
  readonly epmd: number
  readonly dist: number
}

export const brokerPorts = async (): Promise<BrokerPorts> => {
  const [port, epmd, dist] = (await freePorts(3)) as [number, number, number]
  return { port, epmd, dist }
}

/** Left to itself the broker would leave an epmd behind with a pid that nobody told us. */
export const startEpmd = async (dir: string, { epmd }: BrokerPorts, started: Started): Promise<void> => {
  const pid = launch(dir, 'epmd', ['-address', '127.0.0.1', '-port', String(epmd)], environment(dir))
  started(pid)
  await untilAnswer(() => tcpAnswers(epmd), pid)
}

/** Also for one that was killed: the same files, the same ports. `lines` are added to its configuration. */
export const startBroker = async (
  home: string,
  dir: string,
  ports: BrokerPorts,
  started: Started,
  lines: readonly string[] = [],
  plugins: readonly string[] = [],
): Promise<string> => {
  writeFiles(dir, ports.port, lines, plugins)
  const broker = launch(dir, home, [], { ...environment(dir), ...erlangPorts(ports) })
  started(broker)
  const url = `amqp://guest:guest@127.0.0.1:${ports.port}`
  await untilAnswer(() => rabbitmq.ping(url), broker)
  started(Number(readFileSync(join(dir, 'pid'), 'utf8'))) // the machine inside the broker's shell
  return url
}

function installedVersion(home: string): string {
  try {
    const names = readdirSync(join(home, '..', '..', 'lib')).map(
      (name) => /^rabbitmq_server-(.+)$/.exec(name)?.[1],
    )
    return names.find((name) => name !== undefined) ?? '?'
  } catch {
    return '?'
  }
}

function writeFiles(dir: string, port: number, lines: readonly string[], plugins: readonly string[]): void {
  for (const folder of ['home', 'log', 'mnesia']) mkdirSync(join(dir, folder), { recursive: true })
  writeFileSync(
    join(dir, 'rabbitmq.conf'),
    [`listeners.tcp.1 = 127.0.0.1:${port}`, 'loopback_users.guest = true', ...lines, ''].join('\n'),
  )
  writeFileSync(join(dir, 'enabled_plugins'), `[${plugins.join(',')}].\n`)
}

/** Every file in `dir`, and nothing taken from an installed broker's own settings. */
function environment(dir: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: join(dir, 'home'),
    RABBITMQ_CONF_ENV_FILE: join(dir, 'none'),
    RABBITMQ_CONFIG_FILE: join(dir, 'rabbitmq.conf'),
    RABBITMQ_CONFIG_FILES: join(dir, 'none', '*.conf'),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(dir, 'none'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(dir, 'enabled_plugins'),
    RABBITMQ_MNESIA_BASE: join(dir, 'mnesia'),
    RABBITMQ_LOG_BASE: join(dir, 'log'),
    RABBITMQ_PID_FILE: join(dir, 'pid'),
  }
}

function erlangPorts({ port, epmd, dist }: BrokerPorts): NodeJS.ProcessEnv {
  return {
    RABBITMQ_NODENAME: `r${port}@localhost`,
    RABBITMQ_DIST_PORT: String(dist),
    // The second part: without it nodes are listened for on every address.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+S 2:2 -kernel inet_dist_use_interface {127,0,0,1}',
    ERL_EPMD_PORT: String(epmd),
    ERL_EPMD_ADDRESS: '127.0.0.1',
  }
}

function tcpAnswers(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = tcpConnect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve()
    })
    socket.on('error', reject)
  })
}
