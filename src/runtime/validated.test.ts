import { expect, it } from 'vitest'
import { z } from 'zod'
import { freshParcel } from '../core/parcel.ts'
import type { Outcome } from '../core/verdict.ts'
import { emptyBook, rulesFor } from '../rules/index.ts'
import { testTools } from '../testing/tools.ts'
import { attempt } from './attempt.ts'
import { createDeadlines } from './deadline.ts'
import type { Context, Schema } from './handler.ts'

const bench = (schema: Schema<unknown>, data: unknown) => {
  const { clock } = testTools()
  const extensions = {}
  const bytes = Buffer.from(JSON.stringify(data))
  const event = { id: '1', source: 's', type: 't', extensions, headers: {}, data: bytes }
  const seen: unknown[] = []
  const outcomes: Outcome[] = []
  const handle = ({ data: value }: { readonly data: unknown }) => void seen.push(value)
  attempt(
    {
      delivery: { parcel: freshParcel(event, 0), redelivered: false },
      registered: { pattern: 't', schema, handle },
      rules: rulesFor(emptyBook, 's', 't'),
      deadlines: createDeadlines(clock),
      stop: new AbortController().signal,
      now: clock.now,
      context: () => ({}) as Context,
    },
    (outcome) => outcomes.push(outcome),
  )
  return { seen, outcomes, clock }
}

const plain = z.object({ n: z.coerce.number() }) as Schema<unknown>
const slow = z.object({ n: z.number().refine(async (n) => n > 0) }) as Schema<unknown>

it('an event is handled in the same turn where its schema answers at once', () => {
  const { seen, outcomes } = bench(plain, { n: '7' })
  expect(seen).toEqual([{ n: 7 }])
  expect(outcomes).toEqual([{ is: 'done' }])
})

it('and refused in the same turn where it does not fit', () => {
  const { seen, outcomes } = bench(plain, { n: 'seven' })
  expect(seen).toEqual([])
  expect(outcomes).toMatchObject([{ is: 'failed', failure: { category: 'permanent', kind: 'schema' } }])
})

it('a schema that takes its time is waited for', async () => {
  const fits = bench(slow, { n: 7 })
  const not = bench(slow, { n: -7 })
  expect([...fits.outcomes, ...not.outcomes]).toEqual([])
  await fits.clock.advance(1)
  await not.clock.advance(1)
  expect(fits.seen).toEqual([{ n: 7 }])
  expect(not.seen).toEqual([])
  expect(not.outcomes).toMatchObject([{ is: 'failed', failure: { kind: 'schema' } }])
})
