import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect as tcpConnect } from 'node:net'
import { join } from 'node:path'
import { aptInstall } from './apt.ts'
import { freePorts } from './ports.ts'
import { firstProgram, launch, onPath, untilAnswer } from './processes.ts'
import type { Server } from './server.ts'

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
    const home = firstProgram(PLACES) ?? onPath('rabbitmq-server')
    return home && onPath('epmd') ? { home, version: installedVersion(home), how: 'installed' } : undefined
  },

  async get() {
    await aptInstall(['rabbitmq-server'])
    const found = await rabbitmq.find()
    if (!found) throw new Error('rabbitmq-server was installed, but is in none of its usual places')
    return { ...found, how: 'fetched' }
  },

  async start(program, dir, started) {
    const [port, epmdPort, distPort] = (await freePorts(3)) as [number, number, number]
    const env = { ...environment(dir), ...erlangPorts(port, epmdPort, distPort) }
    writeFiles(dir, port)

    // Left to itself the broker would leave an epmd behind with a pid that nobody told us.
    const epmd = launch(dir, 'epmd', ['-address', '127.0.0.1', '-port', String(epmdPort)], env)
    started(epmd)
    await untilAnswer(() => tcpAnswers(epmdPort), epmd, 10_000)

    const broker = launch(dir, program.home, [], env)
    started(broker)
    const url = `amqp://guest:guest@127.0.0.1:${port}`
    await untilAnswer(() => rabbitmq.ping(url), broker)
    started(Number(readFileSync(join(dir, 'pid'), 'utf8'))) // the machine inside the broker's shell
    return url
  },

  async ping(url) {
    const { connect } = await import('amqplib')
    const connection = await connect(url, { timeout: 2_000 })
    connection.on('error', () => {})
    const { version } = connection.connection.serverProperties
    await connection.close()
    return version
  },
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

function writeFiles(dir: string, port: number): void {
  for (const folder of ['home', 'log', 'mnesia']) mkdirSync(join(dir, folder))
  writeFileSync(
    join(dir, 'rabbitmq.conf'),
    `listeners.tcp.1 = 127.0.0.1:${port}\nloopback_users.guest = true\n`,
  )
  writeFileSync(join(dir, 'enabled_plugins'), '[].\n')
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

function erlangPorts(port: number, epmdPort: number, distPort: number): NodeJS.ProcessEnv {
  return {
    RABBITMQ_NODENAME: `r${port}@localhost`,
    RABBITMQ_DIST_PORT: String(distPort),
    // The second part: without it nodes are listened for on every address.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+S 2:2 -kernel inet_dist_use_interface {127,0,0,1}',
    ERL_EPMD_PORT: String(epmdPort),
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
