import fc from 'fast-check'
import type { Ledger } from '../../src/contracts/ledger.ts'
import {
  acquitRow,
  beginRow,
  type Claim,
  claimRow,
  type Ending,
  finishRow,
  type Held,
  type LedgerKey,
  type LedgerRow,
} from '../../src/core/ledger.ts'

/** The ledger as core/ledger.ts says it: what every other one is measured by. */
export const modelLedger = (now: () => number): Ledger => {
  const rows = new Map<string, LedgerRow>()
  const name = ({ service, id }: LedgerKey): string => JSON.stringify([service, id])
  return {
    claim: async (keys, until) =>
      keys.map((key) => {
        const { claim, row } = claimRow(rows.get(name(key)), key, now(), until)
        if (row) rows.set(name(key), row)
        return claim
      }),
    begin: async (held) => {
      const row = beginRow(rows.get(name(held.key)), held)
      if (row) rows.set(name(held.key), row)
      return row !== undefined
    },
    renew: async (held, until) => {
      for (const { key, token } of held) {
        const row = rows.get(name(key))
        if (row?.state === 'claimed' && row.token === token) rows.set(name(key), { ...row, until })
      }
    },
    acquit: async (held) =>
      held.map((each) => {
        const row = acquitRow(rows.get(name(each.key)), each)
        if (row) rows.set(name(each.key), row)
        return row !== undefined
      }),
    finish: async (ends) =>
      ends.map(({ held, as }) => {
        const row = finishRow(rows.get(name(held.key)), held, as, now())
        if (row) rows.set(name(held.key), row)
        return row !== undefined
      }),
  }
}

export type Act =
  | { readonly do: 'claim'; readonly keys: readonly Omit<LedgerKey, 'service'>[]; readonly lease: number }
  | { readonly do: 'finish'; readonly ends: readonly { readonly which: number; readonly as: Ending }[] }
  | { readonly do: 'begin'; readonly which: number }
  | { readonly do: 'acquit'; readonly which: number }
  | { readonly do: 'renew'; readonly which: readonly number[]; readonly lease: number }
  | { readonly do: 'wait'; readonly ms: number }

/** Few keys, and mostly the same ones: only who meets a row again learns anything about it. */
const often = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constant(usual) },
    { weight: 2, arbitrary: fc.constantFrom(usual, ...others) },
  )

const key = fc.record({
  id: often('a', 'b', '', 'ä\u{1f600} {x}', 'nul\u0000', 'x'.repeat(3000)),
  hash: often('h', 'other one', '', '*'),
  attempt: fc.integer({ min: 1, max: 3 }),
  generation: often(0, 1, 2),
  ttl: fc.constantFrom(0, 100, 1000),
})
/** The same spans as of waiting: what is over and what is not yet is decided at the very moment. */
const SPANS = [0, 100, 1000]
const lease = fc.constantFrom(...SPANS)
const ending = fc.constantFrom<Ending>('done', 'spent', 'free', 'dead')
/** Counted from the last one held. */
const which = often(0, 1, 2, 5)

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('claim' as const),
      keys: fc.array(key, { minLength: 1, maxLength: 3 }),
      lease,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('finish' as const),
      ends: fc.array(fc.record({ which, as: ending }), { minLength: 1, maxLength: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('begin' as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('acquit' as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('renew' as const),
      which: fc.array(which, { minLength: 1, maxLength: 2 }),
      lease,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 99, ...SPANS) }),
  },
)

export const acts: fc.Arbitrary<readonly Act[]> = fc.array(act, { minLength: 10, maxLength: 40, size: 'max' })

/** Does the same to both and answers what each said. Claims held before, current or not, are ended at random. */
export const doBoth = async (
  real: Ledger,
  service: string,
  script: readonly Act[],
  clock: { now(): number; wait(ms: number): void },
): Promise<{ readonly real: readonly unknown[]; readonly model: readonly unknown[] }> => {
  const run = async (ledger: Ledger, act: Act, held: Held[]): Promise<unknown> => {
    const some = (which: number): readonly Held[] => held.slice(0, held.length - which).slice(-1)
    switch (act.do) {
      case 'claim': {
        const keys = act.keys.map((each) => ({ ...each, service }))
        const claims = await ledger.claim(keys, clock.now() + act.lease)
        held.push(...claims.flatMap((claim: Claim) => (claim.is === 'fresh' ? [claim.held] : [])))
        return claims
      }
      case 'finish':
        return ledger.finish(
          act.ends.flatMap(({ which, as }) => some(which).map((one) => ({ held: one, as }))),
        )
      case 'begin':
        return Promise.all(some(act.which).map((one) => ledger.begin(one)))
      case 'acquit':
        return ledger.acquit(some(act.which))
      case 'renew':
        return ledger.renew(act.which.flatMap(some), clock.now() + act.lease)
      case 'wait':
        return undefined
    }
  }
  const model = modelLedger(clock.now)
  const mine: Held[] = []
  const theirs: Held[] = []
  const said: { real: unknown[]; model: unknown[] } = { real: [], model: [] }
  for (const act of script) {
    said.model.push(await run(model, act, mine))
    said.real.push(await run(real, act, theirs))
    if (act.do === 'wait') clock.wait(act.ms)
  }
  return said
}
