import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { open } from '../adapters/memory/index.ts'
import { open as openSqlite } from '../adapters/sqlite/index.ts'
import type { AppStore } from '../contracts/store.ts'
import type { Delivery, Settled, Settlement, Transport } from '../contracts/transport.ts'
import { Permanent, Transient } from '../core/errors.ts'
import { freshParcel } from '../core/parcel.ts'
import type { Verdict } from '../core/verdict.ts'
import { readRules } from '../rules/index.ts'
import { testTools } from '../testing/tools.ts'
import { createApp } from './app.ts'
import type { Context } from './handler.ts'
import { createOvertaken } from './overtaken.ts'

const HOUR = 60 * 60_000
const folder = mkdtempSync(join(tmpdir(), 'reprieve-overtaken-'))
const FILE = `sqlite:${join(folder, 'app.db')}`
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const parcel = (id: string, spent = 0, text = '{}') => {
  const event = { id, source: 's', type: 't', extensions: {}, headers: {}, data: Buffer.from(text) }
  const fresh = freshParcel(event, 0)
  return { ...fresh, trail: { ...fresh.trail, spent } }
}
const retry: Verdict = { do: 'retry', due: 5, trail: parcel('a', 1).trail }

it('what is known of an attempt is told once, of that attempt only, and not for ever', () => {
  let now = 0
  const overtaken = createOvertaken(() => now)
  const ended = { verdict: retry, took: 7 }
  overtaken.remember('topic', parcel('a'), ended)
  expect(overtaken.recall('topic', parcel('a', 1))).toBeUndefined()
  expect(overtaken.recall('topic', parcel('a', 0, '{"other":1}'))).toBeUndefined()
  expect(overtaken.recall('other', parcel('a'))).toBeUndefined()
  expect(overtaken.recall('topic', parcel('a'))).toBe(ended)
  expect(overtaken.recall('topic', parcel('a'))).toBeUndefined()
  overtaken.remember('topic', parcel('a'), ended)
  now = HOUR
  expect(overtaken.recall('topic', parcel('b'))).toBeUndefined()
  now = 0 // it is gone, whoever was asked for: not only passed by
  expect(overtaken.recall('topic', parcel('a'))).toBeUndefined()
})

it('of a thousand the newest are known', () => {
  const overtaken = createOvertaken(() => 0)
  for (let n = 0; n <= 1000; n++) overtaken.remember('topic', parcel(`${n}`), { verdict: retry, took: 0 })
  expect(overtaken.recall('topic', parcel('0'))).toBeUndefined()
  for (let n = 1; n <= 1000; n++) expect(overtaken.recall('topic', parcel(`${n}`))).toBeDefined()
})

/**
 * A broker that takes each delivery away, as often as it is asked to, just before it is settled: it comes again, or goes to
 * another process, which settles it.
 */
const stage = async (
  pattern: string,
  takes: number,
  handler: (attempt: number, ctx: Context) => void | Promise<void>,
  then: 'give back' | 'ack' = 'give back',
) => {
  const tools = testTools()
  const opened = pattern === 'transaction' ? await openSqlite(FILE, tools) : await open('memory:', tools)
  const own = opened.transport!
  const store: AppStore = opened.store!
  let left = takes
  const taken = new Set<Delivery>()
  const transport: Transport = {
    ...own,
    subscribe: async (to) => {
      const inlet = await own.subscribe(to)
      const settle = async (batch: readonly Settlement[]): Promise<readonly Settled[]> => {
        const answers: Settled[] = []
        for (const each of batch) {
          if (left > 0) {
            left--
            answers.push('lost')
            const { delivery } = each
            if (taken.has(delivery)) continue
            taken.add(delivery)
            void tools.clock.sleep(1000).then(() => inlet.settle([{ do: then, delivery }]))
          } else answers.push(...(await inlet.settle([each])))
        }
        return answers
      }
      return { ...inlet, settle }
    },
  }
  const app = createApp({
    book: readRules(
      `version: 1\ndefaults: { idempotency: { pattern: ${pattern} }, policy: { retries: 2, backoff: fixed, delay: 1s } }`,
      'rules.yaml',
    ),
    transport,
    store: { ...store, companion: transport },
    tools,
  })
  const attempts: number[] = []
  app.service('shop').on('order.placed', (_, ctx) => {
    attempts.push(ctx.attempt)
    return handler(ctx.attempt, ctx)
  })
  const started = app.start()
  await tools.clock.runUntil(started)
  await app.publish('order.placed', { n: 1 }, { id: 'o-1' })
  await tools.clock.advance(60_000)
  if (then === 'ack') await app.publish('order.placed', { n: 1 }, { id: 'o-1' })
  await tools.clock.advance(60_000)
  await tools.clock.runUntil(app.drain())
  return { attempts, facts: tools.facts.map(({ is }) => is) }
}

it('an attempt that failed when its delivery was taken away counts, and is not run again', async () => {
  const { attempts, facts } = await stage('dedup', 1, (attempt) => {
    if (attempt === 1) throw new Transient('not yet')
  })
  expect(attempts).toEqual([1, 2])
  expect(facts.filter((is) => is === 'lost' || is === 'retry' || is === 'done')).toEqual([
    'lost',
    'retry',
    'done',
  ])
})

it('one whose delivery is taken away each time dies of its attempts', async () => {
  const { attempts, facts } = await stage('dedup', 3, () => {
    throw new Transient('never')
  })
  expect(attempts).toEqual([1, 2, 3])
  expect(facts).toContain('dead')
})

it('without a ledger an effect is not made again either, nor a burial run again', async () => {
  expect((await stage('none', 1, () => {})).attempts).toEqual([1])
  const { attempts, facts } = await stage('none', 1, () => {
    throw new Permanent('no such order')
  })
  expect(attempts).toEqual([1])
  expect(facts).toContain('dead')
})

it.each(['none', 'upsert'])(
  'what is published anew is not taken for one that another process has handled meanwhile, idempotency %s',
  async (pattern) => {
    expect((await stage(pattern, 1, () => {}, 'ack')).attempts).toEqual([1, 1])
    let failures = 1
    const { attempts, facts } = await stage(
      pattern,
      1,
      () => {
        if (failures-- > 0) throw new Permanent('no such order')
      },
      'ack',
    )
    expect(attempts).toEqual([1, 1])
    expect(facts).not.toContain('dead')
  },
)

it('an attempt that failed only because its event was no longer ours when it was to be committed is not spent', async () => {
  const { attempts, facts } = await stage('transaction', 2, (_, ctx) => ctx.tx(() => {}))
  expect(attempts).toEqual([1, 1])
  expect(facts).not.toContain('retry')
  expect(facts).toContain('done')
})
