import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'amqplib'
import { expect, it } from 'vitest'
import { reprieve, Transient } from '../../src/index.ts'
import { openProxy } from '../faults/proxy.ts'
import { describeWith } from '../services/urls.ts'

const clear = async (url: string, queues: readonly string[]): Promise<void> => {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  for (const queue of queues) {
    await channel.deleteQueue(queue)
    await channel.deleteExchange(`${queue}.dlx`)
  }
  await connection.close()
}

describeWith('amqp', 'an app that leaves while RabbitMQ does not answer', (url) => {
  it.each([
    ['half-open', 'freeze'],
    ['heard by the broker and deaf itself', 'deafen'],
    ['refused', 'refuse'],
  ] as const)(
    '%s: handlers finish, nobody waits for ever, and nothing is lost',
    async (_, fault) => {
      const folder = mkdtempSync(join(tmpdir(), 'reprieve-drain-'))
      const wire = await openProxy(url)
      const at = new URL(wire.url)
      at.search = '?heartbeat=2'
      const store = `sqlite:${join(folder, 'store.db')}`
      const name = `drain-${process.pid}-${Date.now()}`
      const effects: string[] = []
      const failing = new Set<string>()
      const start = async (transport: string) => {
        const app = await reprieve({ transport, store, journal: () => {} })
        app.service(name).on(name, async ({ id, data }: { id: string; data: { n: number } }) => {
          await sleep(100)
          if (data.n % 2 === 0 && !failing.has(id)) {
            failing.add(id)
            throw new Transient('not now')
          }
          effects.push(id)
        })
        await app.start()
        return app
      }
      const app = await start(at.href)
      const ids = await Promise.all(Array.from({ length: 10 }, (_each, n) => app.publish(name, { n })))
      await expect.poll(() => effects.length + failing.size).toBeGreaterThan(0)
      wire[fault]()
      if (fault === 'refuse') wire.cut()
      const began = Date.now()
      await app.close(1000)
      const took = Date.now() - began
      console.log(`closed after ${took} ms while ${fault}`)
      expect(took).toBeLessThan(30_000)
      await expect.poll(() => wire.open).toBe(0)
      await wire.close()

      const again = await start(url)
      await expect.poll(() => new Set(effects).size, { timeout: 50_000 }).toBe(ids.length)
      // a copy that the broker took without our hearing of it, and its original: where the one comes while the other
      // runs, both do
      const copies = fault === 'deafen' ? failing.size : 0
      expect(effects.length).toBeLessThanOrEqual(ids.length + copies)
      const queues = [`${name}.${name}`, ...again.destinations().map((each) => each.name)]
      await again.close()
      await clear(url, queues)
      rmSync(folder, { recursive: true, force: true })
    },
    90_000,
  )
})
