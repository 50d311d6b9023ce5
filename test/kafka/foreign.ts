import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'vitest'
import { findJava } from '../services/java.ts'
import { kafka } from '../services/kafka.ts'
import { run } from '../services/processes.ts'
import { describeWith } from '../services/urls.ts'

const java = await findJava()
const program = await kafka.find()
const compiles = java && (await run(java.path, ['--list-modules']).catch(() => '')).includes('jdk.compiler')

/** Tests with Kafka's own Java client. Without it, or without a compiler, they are skipped, and say so. */
export const describeForeign = (title: string, body: (brokers: string) => void): void => {
  if (compiles && program) describeWith('kafka', title, body)
  else describe.skip(`${title} (skipped: no Java compiler and Kafka client on this machine)`, () => body(''))
}

const FAST = '-XX:TieredStopAtLevel=1'
const NEEDED = /^(kafka-clients|slf4j-api|lz4-java|snappy-java|zstd-jni)-/

/** Compiled once for each process that asks. */
const compiled = (() => {
  let made: Promise<string> | undefined
  const compile = async (): Promise<string> => {
    const { home } = program!
    const jars = readdirSync(home).filter((name) => NEEDED.test(name))
    const classes = mkdtempSync(join(tmpdir(), 'reprieve-foreign-'))
    process.once('exit', () => rmSync(classes, { recursive: true, force: true }))
    const path = [classes, ...jars.map((name) => join(home, name))].join(':')
    const source = join(import.meta.dirname, 'Foreign.java')
    const compiler = ['-m', 'jdk.compiler/com.sun.tools.javac.Main']
    await run(java!.path, [FAST, ...compiler, '-d', classes, '-cp', path, source])
    return path
  }
  return () => {
    made ??= compile()
    return made
  }
})()

const foreign = async (...args: string[]): Promise<string> =>
  run(java!.path, [FAST, '-cp', await compiled(), 'Foreign', ...args])

export const foreignPut = (brokers: string, topic: string, codecs: readonly string[]): Promise<string> =>
  foreign('put', brokers, topic, ...codecs)

export interface ForeignRecord {
  readonly partition: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, Buffer | null>>
}

export const foreignRead = async (brokers: string, topic: string): Promise<readonly ForeignRecord[]> => {
  const lines = (await foreign('read', brokers, topic)).split('\n').filter((line) => line.startsWith('{'))
  const bytes = (text: string | null) => (text === null ? null : Buffer.from(text, 'base64'))
  return lines.map((line) => {
    const { partition, key, value, headers } = JSON.parse(line) as {
      partition: number
      key: string | null
      value: string | null
      headers: Record<string, string | null>
    }
    const texts = Object.entries(headers).map(([name, text]) => [name, bytes(text)])
    return { partition, key: bytes(key), value: bytes(value), headers: Object.fromEntries(texts) }
  })
}
