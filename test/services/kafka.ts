import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { alone, cacheFolder, intact, place } from './cache.ts'
import { fetchJars, findJava, getJava, type Java } from './java.ts'
import { releaseBy } from './kafka-release.ts'
import { freePorts } from './ports.ts'
import { end, identify, launch, onPath, run, untilAnswer } from './processes.ts'
import { reasonOf, say } from './say.ts'
import type { Program, Server } from './server.ts'

const VERSION = '4.3.1'
const ARTIFACTS = [
  `org.apache.kafka:kafka_2.13:${VERSION}`,
  'org.apache.logging.log4j:log4j-slf4j-impl:2.25.4',
]
const PLACES = ['/opt/kafka', '/opt/homebrew/opt/kafka/libexec', '/usr/local/opt/kafka/libexec']

/** One broker that is its own controller (KRaft). Its `home` is the folder of its jars. */
export const kafka: Server = {
  name: 'kafka',
  env: 'REPRIEVE_TEST_KAFKA',

  async find() {
    if (!(await findJava())) return undefined
    const script = onPath('kafka-server-start.sh')
    const places = [process.env.KAFKA_HOME, script && dirname(dirname(script)), ...PLACES]
    for (const place of places) {
      const home = join(place || '.', 'libs')
      const version = place && versionIn(home)
      // Before 4 the same settings mean something else.
      if (version && Number.parseInt(version, 10) >= 4) return { home, version, how: 'installed' }
    }
    return (await intact(ours())) ? { home: join(ours(), 'libs'), version: VERSION, how: 'cache' } : undefined
  },

  async get() {
    await getJava()
    say(`fetching Kafka ${VERSION} by mvn into ${ours()}`)
    await place(ours(), async (part) => {
      await fetchJars(part, ARTIFACTS)
      if (versionIn(join(part, 'libs')) !== VERSION) throw new Error(`mvn brought no Kafka ${VERSION}`)
    })
    return { home: join(ours(), 'libs'), version: VERSION, how: 'fetched' }
  },

  async start(program, dir, started) {
    const java = await getJava()
    const archive = await classArchive(program, java, join(dir, 'training'), started)
    return boot(program, java, dir, archive ? [`-XX:SharedArchiveFile=${archive}`] : [], started)
  },

  async ping(url) {
    const { Admin } = await import('@platformatic/kafka')
    const admin = new Admin({
      clientId: 'reprieve-ping',
      bootstrapBrokers: url.split(','),
      connectTimeout: 2_000,
      timeout: 2_000,
      retries: 0,
    })
    try {
      const { brokers } = await admin.metadata({ topics: [] })
      const [broker] = brokers.values()
      if (!broker) throw new Error('no broker has registered yet')
      return await releaseOf(broker.host, broker.port)
    } finally {
      await admin.close()
    }
  },
}

/** By the features that the broker says it knows; undefined where it does not say. */
async function releaseOf(host: string, port: number): Promise<string | undefined> {
  const { apiVersionsV4, Connection } = await import('@platformatic/kafka')
  const connection = new Connection('reprieve-ping', { connectTimeout: 2_000 })
  try {
    await connection.connect(host, port)
    const { supportedFeatures = [] } = await apiVersionsV4.api.async(connection, 'reprieve', '0')
    return releaseBy(supportedFeatures)
  } catch {
    return undefined // one that is older than the question: it is up all the same
  } finally {
    await connection.close()
  }
}

function ours(): string {
  return join(cacheFolder(), `kafka-${VERSION}`)
}

function jars(home: string): string[] {
  return existsSync(home)
    ? readdirSync(home)
        .filter((name) => name.endsWith('.jar'))
        .sort()
    : []
}

function versionIn(home: string): string | undefined {
  return jars(home)
    .map((name) => /^kafka_2\.13-(\d[\d.]*)\.jar$/.exec(name)?.[1])
    .find((version) => version)
}

async function boot(
  program: Program,
  java: Java,
  dir: string,
  flags: readonly string[],
  started: (pid: number) => void,
): Promise<string> {
  const [port, controller] = (await freePorts(2)) as [number, number]
  const jvm = { program, java, dir, flags }
  await formatKafka(jvm, oneNode(port, controller))
  const url = `127.0.0.1:${port}`
  await launchKafka(jvm, url, started)
  return url
}

/** What it takes to run Kafka's programs in a folder. */
export interface Jvm {
  readonly program: Program
  readonly java: Java
  readonly dir: string
  readonly flags: readonly string[]
}

/** A program and a class archive, where both are there. */
export async function kafkaJvm(program: Program, dir: string): Promise<Jvm> {
  const java = await getJava()
  const archive = await classArchive(program, java, join(dir, 'training'), () => {})
  return { program, java, dir, flags: archive ? [`-XX:SharedArchiveFile=${archive}`] : [] }
}

const common = ({ program, dir }: Jvm): string[] => {
  const classPath = jars(program.home).map((name) => join(program.home, name))
  const logging = `-Dlog4j2.configurationFile=${join(dir, 'log4j2.properties')}`
  return ['-XX:+UseSerialGC', logging, '-cp', classPath.join(':')]
}

/** Writes its settings and makes its folder of data; `scram`: users it knows from the start. */
export async function formatKafka(
  jvm: Jvm,
  settings: Readonly<Record<string, string | number>>,
  { clusterId = randomBytes(16).toString('base64url'), scram = [] as readonly string[] } = {},
): Promise<void> {
  const file = writeFiles(jvm.dir, settings)
  const users = scram.flatMap((user) => ['--add-scram', user])
  const format = ['kafka.tools.StorageTool', 'format', `--cluster-id=${clusterId}`, '-c', file, ...users]
  const shared = jvm.flags.filter((flag) => flag.includes('SharedArchiveFile'))
  await run(jvm.java.path, ['-Xmx128m', '-XX:TieredStopAtLevel=1', ...shared, ...common(jvm), ...format])
}

/** Resolves when it answers at `url`. */
export async function launchKafka(jvm: Jvm, url: string, started: (pid: number) => void): Promise<void> {
  const settings = join(jvm.dir, 'server.properties')
  const args = ['-Xmx256m', ...jvm.flags, ...common(jvm), 'kafka.Kafka', settings]
  const pid = launch(jvm.dir, jvm.java.path, args, process.env)
  started(pid)
  await untilAnswer(() => kafka.ping(url), pid)
}

/**
 * The JVM's archive of loaded classes, which makes a start three times as fast. Made once for each pair of
 * Java and Kafka by a broker that is started to be stopped; without one everything works, only slower.
 */
async function classArchive(program: Program, java: Java, dir: string, started: (pid: number) => void) {
  const key = createHash('sha256')
    .update(`${java.version} ${program.home} ${jars(program.home)}`)
    .digest('hex')
  const archive = join(cacheFolder(), `kafka-${program.version}-${key.slice(0, 12)}.jsa`)
  if (existsSync(archive)) return archive
  return alone('kafka-archive', async () => {
    if (existsSync(archive)) return archive
    const part = `${archive}.part`
    rmSync(part, { force: true })
    say('making a class archive for Kafka, once: later starts are faster')
    try {
      mkdirSync(dir)
      let broker: number | undefined
      await boot(program, java, dir, [`-XX:ArchiveClassesAtExit=${part}`], (pid) => {
        broker = pid
        started(pid)
      })
      const process = broker && identify(broker)
      if (process) await end(process, 60_000)
      renameSync(part, archive)
      return archive
    } catch (error) {
      say(`no class archive for Kafka: ${reasonOf(error)}`)
      return undefined
    }
  })
}

/** One broker that is its own controller. */
export const oneNode = (port: number, controller: number): Record<string, string | number> => ({
  'process.roles': 'broker,controller',
  'node.id': 1,
  'controller.quorum.voters': `1@127.0.0.1:${controller}`,
  listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}`,
  'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
  'controller.listener.names': 'CONTROLLER',
  'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
  'num.partitions': 3,
  'auto.create.topics.enable': 'false',
  'group.initial.rebalance.delay.ms': 0,
  'offsets.topic.replication.factor': 1,
  'offsets.topic.num.partitions': 3,
  'transaction.state.log.replication.factor': 1,
  'transaction.state.log.min.isr': 1,
  'transaction.state.log.num.partitions': 3,
  // without this a small heap dies
  'log.cleaner.dedupe.buffer.size': 2_097_152,
})

function writeFiles(dir: string, settings: Readonly<Record<string, string | number>>): string {
  const file = join(dir, 'server.properties')
  const all = { ...settings, 'log.dirs': join(dir, 'data') }
  const lines = Object.entries(all).map(([name, value]) => `${name}=${value}\n`)
  writeFileSync(file, lines.join(''))
  writeFileSync(
    join(dir, 'log4j2.properties'),
    `status=error
appender.file.type=File
appender.file.name=file
appender.file.fileName=${join(dir, 'out.log')}
appender.file.layout.type=PatternLayout
appender.file.layout.pattern=%d{ISO8601} %p %c{1} %m%n
rootLogger.level=warn
rootLogger.appenderRef.file.ref=file
`,
  )
  return file
}
