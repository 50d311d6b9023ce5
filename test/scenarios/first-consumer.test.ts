import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { describeWith } from '../services/urls.ts'
import { ownSchema } from '../stores/postgres.ts'
import { folderWith, root, startNode } from './child.ts'

const EXAMPLE = join(root, 'examples/first-consumer')
const expected = readFileSync(join(EXAMPLE, 'expected-output.txt'), 'utf8')

/** The example as someone has it who installed the package: in a folder of its own, by its public name. */
const runExample = (env: Readonly<Record<string, string>> = {}) => {
  const cwd = folderWith()
  cpSync(join(EXAMPLE, 'consumer.ts'), join(cwd, 'consumer.ts'))
  mkdirSync(join(cwd, 'node_modules'))
  symlinkSync(root, join(cwd, 'node_modules/reprieve'))
  return startNode(['--conditions=source', 'consumer.ts'], { cwd, env }).ended
}

const asExpected = { code: 0, stdout: expected, stderr: '' }

describe('the first consumer', () => {
  it('prints what it says it prints, on SQLite with nothing to install', async () => {
    expect(await runExample()).toEqual(asExpected)
  })
})

describeWith('amqp', 'the first consumer on RabbitMQ', (url) => {
  it('prints the same, with another URL and nothing else changed', async () => {
    expect(await runExample({ REPRIEVE_TRANSPORT: url })).toEqual(asExpected)
  })
})

describeWith('kafka', 'the first consumer on Kafka', (url) => {
  it('prints the same, with another URL and nothing else changed', async () => {
    expect(await runExample({ REPRIEVE_TRANSPORT: `kafka://${url}` })).toEqual(asExpected)
  })
})

describeWith('postgres', 'the first consumer on PostgreSQL', (url) => {
  it('prints the same, with another URL and nothing else changed', async () => {
    expect(await runExample({ REPRIEVE_TRANSPORT: ownSchema(url) })).toEqual(asExpected)
  })
})
