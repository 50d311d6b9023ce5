import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe } from 'vitest'
import { alive, end, firstProgram, identify, type Process, run } from '../services/processes.ts'
import { brokerPorts, rabbitmq, startBroker, startEpmd } from '../services/rabbitmq.ts'

/** A broker that belongs to one test, with its own `rabbitmqctl`: users, alarms and its death touch nobody else. */
export interface OwnBroker {
  readonly url: string
  readonly version: string
  control(...args: string[]): Promise<string>
  /** As if memory were short: whoever publishes is held up. By hand, for not every system lets a broker see its memory. */
  alarm(on: boolean): Promise<void>
  /** By SIGKILL: nothing is said and nothing is saved. */
  kill(): Promise<void>
  /** The same port, the same files. */
  start(): Promise<void>
  close(): Promise<void>
}

const program = await rabbitmq.find()
// Debian's on the PATH changes the user, who has another cookie
const ctl = program && firstProgram([join(dirname(program.home), 'rabbitmqctl')])

export const hasOwnBroker = ctl !== undefined && process.platform === 'linux'

export const describeOwnBroker = (title: string, body: () => void): void => {
  if (hasOwnBroker) describe(title, body)
  else describe.skip(`${title} (skipped: rabbitmq-server with rabbitmqctl is not on this machine)`, body)
}

/** `lines` are added to its configuration. */
export const ownBroker = async (
  lines: readonly string[] = [],
  plugins: readonly string[] = [],
): Promise<OwnBroker> => {
  const dir = mkdtempSync(join(tmpdir(), 'reprieve-own-rabbitmq-'))
  const ports = await brokerPorts()
  const epmd: Process[] = []
  let broker: Process[] = []
  const into = (list: Process[]) => (pid: number, ask?: NodeJS.Signals) => {
    const known = identify(pid, ask)
    if (known) list.push(known)
  }
  const start = (): Promise<string> => {
    broker = []
    return startBroker(program!.home, dir, ports, into(broker), lines, plugins)
  }
  const kill = async (): Promise<void> => {
    for (const each of broker) if (alive(each)) process.kill(each.pid, 'SIGKILL')
    while (broker.some(alive)) await sleep(5)
  }
  const close = async (): Promise<void> => {
    await kill() // in good order it would take its time, and its files go anyway
    for (const each of epmd) await end(each)
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  }
  let url: string
  try {
    await startEpmd(dir, ports, into(epmd))
    url = await start()
  } catch (error) {
    await close()
    throw error
  }
  const env = {
    PATH: process.env.PATH,
    HOME: join(dir, 'home'),
    RABBITMQ_CONF_ENV_FILE: join(dir, 'none'),
    RABBITMQ_NODENAME: `r${ports.port}@localhost`,
    ERL_EPMD_PORT: String(ports.epmd),
  }
  const control = (...args: string[]): Promise<string> => run(ctl!, args, { env, cwd: dir })
  const limit = '{resource_limit, memory, node()}'
  return {
    url,
    alarm: async (on) => {
      const call = on ? `set_alarm({${limit}, []})` : `clear_alarm(${limit})`
      await control('eval', `rabbit_alarm:${call}.`)
    },
    version: (await rabbitmq.ping(url)) ?? '?',
    control,
    kill,
    start: async () => void (await start()),
    close,
  }
}
