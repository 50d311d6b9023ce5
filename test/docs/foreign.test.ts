import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'amqplib'
import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { readRules } from '../../src/rules/index.ts'
import { root } from '../architecture/source.ts'
import { cli, folderWith } from '../scenarios/child.ts'
import { describeWith } from '../services/urls.ts'

const FILE = join(root, 'docs/foreign.md')
const page = readFileSync(FILE, 'utf8')

/** Without what depends on when it runs: moments, ages, ids, and the room they take in a table. */
const timeless = (text: string) =>
  text
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<moment>')
    .replace(/[\d.]+ (?:ms|s|min|h|d)\b/g, '<span>')
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|rabbitmq:[0-9a-f]{32}|\bf1-[0-9a-f]{16}/g, '<id>')
    .replace(/ +/g, ' ')
    .trimEnd()

it('docs/foreign.md shows a book that holds', () => {
  const [, text] = /^```yaml\n([\s\S]*?)^```$/m.exec(page)!
  const { foreign } = readRules(text!, 'reprieve.yaml')
  expect([...foreign]).toEqual([
    ['shop.orders.dead', { service: 'shop' }],
    ['payments.DLT', { service: 'payments', topic: 'payments', replay: 'service' }],
  ])
})

/** A consumer that never heard of us: its queue, and what it rejected. */
const prepare = async (url: string) => {
  const connection = await connect(url)
  const channel = await connection.createConfirmChannel()
  const clear = async () => {
    for (const queue of ['shop.orders', 'shop.orders.dead', 'shop.others.dead'])
      await channel.deleteQueue(queue)
    await channel.deleteExchange('shop')
  }
  await clear()
  onTestFinished(async () => {
    await clear()
    await connection.close()
  })
  await channel.assertExchange('shop', 'topic', { durable: true })
  for (const queue of ['shop.orders.dead', 'shop.others.dead']) await channel.assertQueue(queue)
  await channel.assertQueue('shop.orders', {
    deadLetterExchange: '',
    deadLetterRoutingKey: 'shop.orders.dead',
  })
  await channel.bindQueue('shop.orders', 'shop', 'order.*')
  for (const number of [7, 8]) {
    const body = Buffer.from(JSON.stringify({ order: number }))
    const options = {
      messageId: `order-${number}`,
      contentType: 'application/json',
      headers: { tenant: 'a' },
    }
    channel.publish('shop', 'order.placed', body, options)
  }
  channel.sendToQueue('shop.others.dead', Buffer.from([0xca, 0xfe]), {
    messageId: 'nobody-knows',
    contentType: 'application/octet-stream',
  })
  await channel.waitForConfirms()
  for (let rejected = 0; rejected < 2; ) {
    const message = await channel.get('shop.orders')
    if (message) {
      channel.nack(message, false, false)
      rejected++
    } else await systemClock.sleep(20)
  }
  return async () => (await channel.checkQueue('shop.orders')).messageCount
}

describeWith('amqp', 'docs/foreign.md', (url) => {
  it('shows what its commands print', async () => {
    const waiting = await prepare(url)
    const book = 'version: 1\nforeign: { shop.orders.dead: { service: shop }, shop.others.dead: }\n'
    const cwd = folderWith({ 'reprieve.yaml': book })
    const env = { TZ: 'UTC', REPRIEVE_TRANSPORT: url, REPRIEVE_STORE: `sqlite:${join(cwd, 'office.db')}` }
    const { stdout } = await cli(['dlq', 'list', '--service', 'shop', '--json'], { cwd, env })
    const { letters } = JSON.parse(stdout)
    const id = letters.find((each: { originalEventId: string }) => each.originalEventId === 'order-7').dlqId

    const blocks = [...page.matchAll(/^```console\n\$ reprieve (.*)\n([\s\S]*?)^```$/gm)]
    expect(blocks.length + 1).toBe(page.match(/^```/gm)!.length / 2)
    let written = page
    for (const [whole, line, shown] of blocks) {
      const words = line!.replace('<id>', id).split(' ')
      const { stdout: out, stderr } = await cli(words, { cwd, env })
      const printed = out + stderr
      written = written.replace(
        whole,
        () => `\`\`\`console\n$ reprieve ${line}\n${printed.trimEnd()}\n\`\`\``,
      )
      if (process.env.UPDATE_GOLDEN !== '1') expect(timeless(printed), line).toBe(timeless(shown!))
    }
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(FILE, written)
    expect(await waiting()).toBe(2)
  })
})
