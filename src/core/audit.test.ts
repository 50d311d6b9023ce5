import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Act, type AuditEntry, headAt, link, START, verify } from './audit.ts'
import { canonical } from './canonical.ts'
import type { Json } from './json.ts'

const details = fc.dictionary(fc.string(), fc.jsonValue() as fc.Arbitrary<Json>, { maxKeys: 4 })
const act: fc.Arbitrary<Act> = fc
  .record(
    {
      at: fc.nat(),
      who: fc.string(),
      act: fc.constantFrom('replay', 'discard', 'pause'),
      target: fc.string(),
      count: fc.nat(1000),
      reason: fc.string(),
      details,
    },
    { requiredKeys: ['at', 'who', 'act', 'target', 'count', 'details'] },
  )
  .map((each) => each as Act)

const chainOf = (acts: readonly Act[]): readonly AuditEntry[] => {
  const entries: AuditEntry[] = []
  for (const each of acts) entries.push(link(entries.length > 0 ? headAt(entries.at(-1)!) : START, each))
  return entries
}
const chain = fc.array(act, { minLength: 1, maxLength: 8 }).map(chainOf)
const endOf = (entries: readonly AuditEntry[]) => (entries.length > 0 ? headAt(entries.at(-1)!) : START)
/** One of the entries, by its index. */
const placed = chain.chain((entries) => fc.tuple(fc.constant(entries), fc.nat(entries.length - 1)))
const FIELDS = [
  'at',
  'who',
  'act',
  'target',
  'count',
  'reason',
  'details',
  'seq',
  'previous',
  'hash',
] as const

describe('a chain of acts', () => {
  it('as it was written is intact, from its first entry on', () => {
    fc.assert(
      fc.property(chain, (entries) => {
        expect(verify(entries, endOf(entries))).toBeUndefined()
        expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, i) => i + 1))
      }),
    )
    expect(verify([], START)).toBeUndefined()
  })

  it('shows any change of any field of any entry', () => {
    const other = fc.record({ text: fc.string(), number: fc.integer(), json: details })
    fc.assert(
      fc.property(
        placed,
        fc.constantFrom(...FIELDS),
        other,
        ([entries, i], field, { text, number, json }) => {
          const before = entries[i]!
          const values = { at: number, count: number, seq: number, details: json }
          const value = field in values ? values[field as keyof typeof values] : text
          fc.pre(canonical((before[field] ?? null) as Json) !== canonical(value as Json))
          const changed = entries.with(i, { ...before, [field]: value })
          // the head that was kept is not even needed, but for the hash of the last
          expect(verify(changed, endOf(entries))).toBeDefined()
        },
      ),
      { numRuns: 500 },
    )
  })

  it('shows a reason that was taken away, and one that was put in', () => {
    const [entry] = chainOf([
      { at: 1, who: 'ann', act: 'pause', target: 'mail', count: 1, reason: '', details: {} },
    ])
    const { reason: _, ...without } = entry!
    expect(verify([without])).toEqual({ seq: 1, kind: 'changed' })
    expect(verify([{ ...entry!, reason: 'no' }])).toEqual({ seq: 1, kind: 'changed' })
  })

  it('shows a removal in the middle without any head, and one at the end by the head that was kept', () => {
    fc.assert(
      fc.property(placed, ([entries, i]) => {
        const left = entries.toSpliced(i, 1)
        const isLast = i === entries.length - 1
        expect(verify(left)).toEqual(isLast ? undefined : { seq: i + 1, kind: 'gap' })
        expect(verify(left, endOf(entries))).toEqual({ seq: i + 1, kind: isLast ? 'cut' : 'gap' })
      }),
    )
  })

  it('shows a removal though what follows was numbered and hashed anew', () => {
    fc.assert(
      fc.property(placed, ([entries, i]) => {
        const left = chainOf(entries.toSpliced(i, 1))
        expect(verify(left, endOf(entries))).toMatchObject({ kind: 'cut' })
      }),
    )
  })

  it('shows an insertion, whether it is numbered as the one it stands before or hashed to fit', () => {
    fc.assert(
      fc.property(placed, act, ([entries, i], extra) => {
        const forged = link(i === 0 ? START : headAt(entries[i - 1]!), extra)
        fc.pre(forged.hash !== entries[i]!.hash)
        expect(verify(entries.toSpliced(i, 0, forged))).toEqual({ seq: i + 1, kind: 'order' })
        const behind = [...entries, link(endOf(entries), extra)]
        expect(verify(behind, endOf(entries))).toEqual({ seq: entries.length + 1, kind: 'added' })
        const replaced = entries.with(i, forged)
        expect(verify(replaced, endOf(entries))).toBeDefined()
      }),
    )
  })

  it('shows two that were swapped, as they stand or each given the number of the other', () => {
    const pair = chain
      .filter(({ length }) => length > 1)
      .chain((entries) =>
        fc.tuple(
          fc.constant(entries),
          fc.uniqueArray(fc.nat(entries.length - 1), { minLength: 2, maxLength: 2 }),
        ),
      )
    fc.assert(
      fc.property(pair, ([entries, [i, j]]) => {
        const [a, b] = [entries[i!]!, entries[j!]!]
        expect(verify(entries.with(i!, b).with(j!, a))).toBeDefined()
        const renumbered = entries.with(i!, { ...b, seq: a.seq }).with(j!, { ...a, seq: b.seq })
        expect(verify(renumbered)).toMatchObject({ kind: 'changed' })
      }),
    )
  })

  it('tells where the kept head is gone, or is another', () => {
    const entries = chainOf([{ at: 1, who: 'ann', act: 'pause', target: 'mail', count: 1, details: {} }])
    expect(verify(entries, { count: 1, hash: START.hash })).toEqual({ seq: 1, kind: 'head' })
    expect(verify(entries, START)).toEqual({ seq: 1, kind: 'added' })
  })
})

describe('canonical text', () => {
  it('is JSON of the same value, whatever the order of its names', () => {
    fc.assert(
      fc.property(details, (value) => {
        const turned = Object.fromEntries(Object.entries(value).reverse())
        expect(canonical(turned)).toBe(canonical(value))
        expect(canonical(JSON.parse(canonical(value)))).toBe(canonical(value))
      }),
    )
  })
})
