import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { systemDice } from '../../src/adapters/system/dice.ts'
import { type KeptLetter, Permanent, type PublishOptions, reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { testApp } from '../../src/testing/index.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-one-id-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const TYPE = 'order.placed'

/** A service that refuses whatever comes, and how to publish to it and have all of it at an end. */
interface Refusing {
  readonly office: Awaited<ReturnType<typeof testApp>>['office']
  readonly ran: unknown[]
  publish(data: unknown, options: PublishOptions): Promise<void>
  letters(count: number): Promise<readonly KeptLetter[]>
}

const refuse = (ran: unknown[]) => (event: { readonly data: unknown }) => {
  ran.push(event.data)
  throw new Permanent(`no: ${JSON.stringify(event.data)}`)
}

const WORLDS: readonly [string, (yaml: string, use: (at: Refusing) => Promise<void>) => Promise<void>][] = [
  [
    'in memory',
    async (yaml, use) => {
      await using app = await testApp({ yaml })
      const ran: unknown[] = []
      app.service('shop').on(TYPE, refuse(ran))
      const letters = async (count: number) => {
        await app.settled()
        const kept = await app.office.list({}, 20)
        expect(kept).toHaveLength(count)
        return kept
      }
      const publish = async (data: unknown, options: PublishOptions) => {
        await app.publish(TYPE, data, options)
        await app.settled()
      }
      await use({ office: app.office, ran, publish, letters })
    },
  ],
  [
    'on SQLite',
    async (yaml, use) => {
      const transport = `sqlite:${join(folder, `${systemDice().uuid()}.db`)}`
      let settled = 0
      await using app = await reprieve({
        rules: readRules(yaml, 'test.yaml'),
        transport,
        journal: ({ is }) => {
          if (is === 'dead' || is === 'duplicate' || is === 'stale') settled++
        },
      })
      const ran: unknown[] = []
      app.service('shop').on(TYPE, refuse(ran))
      await app.start()
      let published = 0
      const letters = async (count: number) => {
        await until(`${count} letters`, async () => (await app.office.list({}, 20)).length >= count)
        return app.office.list({}, 20)
      }
      const publish = async (data: unknown, options: PublishOptions) => {
        await app.publish(TYPE, data, options)
        published++
        await until('its end', () => settled >= published)
      }
      await use({ office: app.office, ran, publish, letters })
    },
  ],
]

const payloadsOf = (kept: readonly KeptLetter[]): readonly string[] =>
  kept.map(({ letter }) => Buffer.from(letter.event.data!).toString()).sort()

describe.for(WORLDS)('two events with one id that both die, %s', ([, world]) => {
  it('are two letters where the second is a conflict, and the third is a third', async () => {
    await world('version: 1', async ({ publish, letters, ran }) => {
      for (const n of [1, 2, 3]) await publish({ n }, { id: 'x' })
      const kept = await letters(3)
      expect(payloadsOf(kept)).toEqual(['{"n":1}', '{"n":2}', '{"n":3}'])
      expect(kept.map(({ letter }) => letter.reason).sort()).toEqual(['conflict', 'conflict', 'permanent'])
      expect(kept.map(({ letter }) => letter.event.id)).toEqual(['x', 'x', 'x'])
      expect(ran).toEqual([{ n: 1 }])
    })
  })

  it('are no more letters when each of them comes again', async () => {
    await world('version: 1', async ({ publish, letters }) => {
      for (const n of [1, 2, 1, 2, 2]) await publish({ n }, { id: 'x' })
      expect(payloadsOf(await letters(2))).toEqual(['{"n":1}', '{"n":2}'])
    })
  })

  it('are two letters where the correlation id is part of the ledger key', async () => {
    const yaml = 'version: 1\ndefaults: { idempotency: { key: id+correlation } }'
    await world(yaml, async ({ publish, letters, ran }) => {
      for (const correlationId of ['a', 'b', 'a']) await publish({ n: 1 }, { id: 'x', correlationId })
      const kept = await letters(2)
      expect(kept.map(({ letter }) => letter.event.extensions.correlationid).sort()).toEqual(['a', 'b'])
      expect(ran).toHaveLength(2)
    })
  })

  it.for(['upsert', 'state', 'none'])('are two letters where the pattern is %s', async (pattern) => {
    await world(
      `version: 1\ndefaults: { idempotency: { pattern: ${pattern} } }`,
      async ({ publish, letters }) => {
        for (const n of [1, 2, 2]) await publish({ n }, { id: 'x' })
        expect(payloadsOf(await letters(2))).toEqual(['{"n":1}', '{"n":2}'])
      },
    )
  })

  it('are two letters though nothing but what was redacted tells them apart', async () => {
    await world('version: 1\nredact: { order.placed: { paths: [$.card] } }', async ({ publish, letters }) => {
      for (const card of ['4111 1111', '5500 0000']) await publish({ card }, { id: 'x' })
      const kept = await letters(2)
      expect(payloadsOf(kept)).toEqual(['{"card":"[redacted]"}', '{"card":"[redacted]"}'])
    })
  })

  it('are each sent back, and die again as letters of their own', async () => {
    await world(
      'version: 1\ndefaults: { idempotency: { pattern: none } }',
      async ({ office, publish, letters }) => {
        for (const n of [1, 2]) await publish({ n }, { id: 'x' })
        const before = (await letters(2)).map(({ letter }) => letter.id)
        // repaired to be the same to the last byte: what they were sent from is all that tells them apart
        await office.repair(before, { set: { '$.n': 7 } })
        await office.replay({ ids: before })
        await letters(4)
        await until(
          'both to be told',
          async () => (await office.list({ states: ['dead again'] }, 9)).length > 1,
        )
        const after = await letters(4)
        expect(payloadsOf(after)).toEqual(['{"n":1}', '{"n":2}', '{"n":7}', '{"n":7}'])
        for (const id of before) {
          const first = after.find(({ letter }) => letter.id === id)!
          expect(first.state).toBe('dead again')
          const { lives } = await office.lives(first)
          const second = after.find(({ letter }) => letter.trail.replay?.letter === id)!
          expect(lives).toMatchObject([
            { id, generation: 0, state: 'dead again' },
            { id: second.letter.id, generation: 1, state: 'open' },
          ])
          expect((await office.lives(second)).lives).toEqual(lives)
        }
      },
    )
  })
})
