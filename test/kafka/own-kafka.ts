import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe } from 'vitest'
import { formatKafka, type Jvm, kafka, kafkaJvm, launchKafka, oneNode } from '../services/kafka.ts'
import { freePorts } from '../services/ports.ts'
import { alive, end, identify, type Process } from '../services/processes.ts'

/** Brokers that belong to one test: they may be killed, and started again with the same files. */
export interface OwnKafka {
  /** Where each broker really listens, whatever it advertises. */
  readonly brokers: readonly string[]
  /** By SIGKILL: nothing is said and nothing is saved. */
  kill(index?: number): Promise<void>
  start(index?: number): Promise<void>
  /** By SIGSTOP: connections stay, and nobody answers. */
  freeze(index?: number): void
  thaw(index?: number): void
  close(): Promise<void>
}

type Settings = Readonly<Record<string, string | number>>

export interface OwnKafkaOptions {
  /** How many, each its own controller too; three keep everything on all of them and need two. */
  readonly brokers?: number
  /** What the brokers tell clients, one `host:port` each: a proxy before them. */
  readonly advertised?: readonly string[]
  /** On top of the usual ones, of every broker. */
  readonly settings?: (usual: Settings, index: number) => Settings
  readonly scram?: readonly string[]
  /** Ports to listen on, for who must know them beforehand. */
  readonly ports?: readonly number[]
}

const program = await kafka.find()

/** Tests that need brokers of their own. Without the program they are skipped, and their title says why. */
export const describeOwnKafka = (title: string, body: () => void): void => {
  if (program) describe(title, body)
  else describe.skip(`${title} (skipped: Kafka and Java are not on this machine)`, body)
}

export const hasOwnKafka = program !== undefined

export const ownKafka = async (options: OwnKafkaOptions = {}): Promise<OwnKafka> => {
  const { brokers: count = 1, advertised, settings, scram = [] } = options
  const root = mkdtempSync(join(tmpdir(), 'reprieve-own-kafka-'))
  // all at once: nobody listens on them yet, and so one could be had twice
  const free = await freePorts(2 * count)
  const ports = options.ports ?? free.slice(count)
  const controllers = free.slice(0, count)
  const voters = controllers.map((port, at) => `${at + 1}@127.0.0.1:${port}`).join(',')
  const processes: (Process | undefined)[] = []
  const jvms: Jvm[] = []

  const usual = (at: number): Settings => ({
    ...oneNode(ports[at]!, controllers[at]!),
    'node.id': at + 1,
    'controller.quorum.voters': voters,
    'advertised.listeners': `PLAINTEXT://${advertised?.[at] ?? `127.0.0.1:${ports[at]}`}`,
    ...(count > 1 && {
      'default.replication.factor': count,
      'min.insync.replicas': 2,
      'offsets.topic.replication.factor': count,
      'transaction.state.log.replication.factor': count,
      'transaction.state.log.min.isr': 2,
      // a dead one is found out soon
      'broker.session.timeout.ms': 3_000,
      'broker.heartbeat.interval.ms': 500,
    }),
  })
  const settingsOf = (at: number): Settings => ({ ...usual(at), ...settings?.(usual(at), at) })
  const launchOne = (at: number) =>
    launchKafka(jvms[at]!, `127.0.0.1:${ports[at]}`, (pid) => {
      processes[at] = identify(pid)
    })
  const signal = (at: number, name: NodeJS.Signals) => {
    const target = processes[at]
    if (target && alive(target)) process.kill(target.pid, name)
  }
  const close = async () => {
    processes.forEach((_, at) => {
      signal(at, 'SIGCONT')
    })
    await Promise.all(processes.map((each) => each && end(each, 5_000)))
    rmSync(root, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    for (let at = 0; at < count; at++) {
      const dir = join(root, String(at))
      mkdirSync(dir)
      jvms.push(await kafkaJvm(program!, dir))
    }
    const clusterId = Buffer.from(root.padEnd(16).slice(-16)).toString('base64url')
    await Promise.all(jvms.map((jvm, at) => formatKafka(jvm, settingsOf(at), { clusterId, scram })))
    await Promise.all(jvms.map((_, at) => launchOne(at)))
  } catch (error) {
    await close()
    throw error
  }
  return {
    brokers: ports.map((port) => `127.0.0.1:${port}`),
    kill: async (at = 0) => {
      const victim = processes[at]
      if (victim && alive(victim)) process.kill(victim.pid, 'SIGKILL')
      while (victim && alive(victim)) await sleep(5)
    },
    start: (at = 0) => launchOne(at),
    freeze: (at = 0) => signal(at, 'SIGSTOP'),
    thaw: (at = 0) => signal(at, 'SIGCONT'),
    close,
  }
}
