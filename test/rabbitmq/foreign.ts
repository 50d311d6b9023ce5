import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { alone, cacheFolder, intact, place } from '../services/cache.ts'
import { fetchJars, findJava } from '../services/java.ts'
import { run } from '../services/processes.ts'
import { reasonOf, say } from '../services/say.ts'

const VERSION = '5.25.0'
const PATIENCE = 90_000
const SOURCE = join(import.meta.dirname, 'Foreign.java')
const FAST = '-XX:TieredStopAtLevel=1'

export interface ForeignClient {
  put(url: string, exchange: string, key: string): Promise<void>
  /** Resolves when it listens. */
  take(url: string, exchange: string, key: string, count: number): Promise<Taking>
}

export interface Taking {
  readonly messages: Promise<readonly ForeignMessage[]>
  end(): void
}

export interface ForeignMessage {
  readonly type: string | null
  readonly id: string | null
  readonly mode: number
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
}

let found: Promise<ForeignClient | string> | undefined

/** It is fetched once into the cache. Where it can't be had, the reason. */
export const foreignClient = (): Promise<ForeignClient | string> => {
  found ??= find()
  return found
}

const find = async (): Promise<ForeignClient | string> => {
  const java = await findJava()
  const modules = java && (await run(java.path, ['--list-modules']).catch(() => ''))
  if (!java || !modules?.includes('jdk.compiler')) return 'no Java compiler on this machine'
  const got = await Promise.race([
    jars().catch((error) => reasonOf(error)),
    sleep(PATIENCE, 'mvn took too long'),
  ])
  if (typeof got === 'string') return `RabbitMQ's Java client can't be had: ${got}`
  const args = [FAST, '-cp', got.join(':'), SOURCE]
  return {
    put: async (...to) => void (await run(java.path, [...args, 'put', ...to])),
    take: async (url, exchange, key, count) => {
      const stdio = ['ignore', 'pipe', 'ignore'] as const
      const child = spawn(java.path, [...args, 'take', url, exchange, key, String(count)], {
        stdio: [...stdio],
      })
      const lines = linesOf(child)
      const { value } = await lines.next()
      if (value !== 'ready') throw new Error(`the Java client said ${value}`)
      return { messages: messagesOf(lines), end: () => void child.kill('SIGKILL') }
    },
  }
}

const jars = async (): Promise<readonly string[]> => {
  const folder = join(cacheFolder(), `rabbitmq-java-${VERSION}`)
  const libs = join(folder, 'libs')
  await alone('rabbitmq-java', async () => {
    if (await intact(folder)) return
    say(`fetching RabbitMQ's Java client ${VERSION} by mvn`)
    await place(folder, (part) => fetchJars(part, [`com.rabbitmq:amqp-client:${VERSION}`]))
  })
  return readdirSync(libs).map((name) => join(libs, name))
}

const linesOf = (child: ChildProcess): AsyncIterator<string> => {
  const lines = createInterface({ input: child.stdout! })
  void once(child, 'exit').then(() => lines.close())
  return lines[Symbol.asyncIterator]()
}

const messagesOf = async (lines: AsyncIterator<string>): Promise<readonly ForeignMessage[]> => {
  const messages: ForeignMessage[] = []
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    const { body, ...rest } = JSON.parse(line.value)
    messages.push({ ...rest, body: Buffer.from(body, 'base64') })
  }
  return messages
}
