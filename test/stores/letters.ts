import fc from 'fast-check'
import type { LetterFilter, Letters } from '../../src/contracts/letters.ts'
import type { Category, Kind } from '../../src/core/failure.ts'
import type { Letter, LetterState } from '../../src/core/letter.ts'
import { sampleLetters } from '../../src/testing/letters.ts'

/** What is done to letters, at random: stores that are told the same must answer the same. */

const START = 1_800_000_000_000
const IDS = Array.from({ length: 16 }, (_, n) => `${(n * 7) % 16}`.padStart(2, '0').repeat(4))
const STATES: readonly LetterState[] = [
  ...(['open', 'replaying', 'resolved', 'dead again', 'discarded', 'quarantined'] as const),
]
/** Few, so that they meet; and odd, as only a database finds them. */
const SERVICES = ['mail-svc', 'pay\\svc']
const TOPICS = ['tasks', 'nul\u0000here', 'back\\0', 'x'.repeat(3000)]
const TYPES = ['task.created', 'ä\u{1f600} {x}', '\u0000']
const CODES = [undefined, 'E_ONE', "quote'", 'half\ud800']
const PRINTS = ['f1-a', 'f1-b', 'f0-old']
const CATEGORIES: readonly Category[] = ['transient', 'permanent']
const KINDS: readonly Kind[] = ['integration', 'business']
const ERRORS = ['Connection refused', 'no such\u0000order', '']
const DATA: readonly (Uint8Array | null)[] = [
  ...[
    '{"order":{"total":250},"lines":[{"sku":"a-7"}]}',
    '{"order":{"total":"250"}}',
    'plain words',
    '\u0000',
  ].map((text) => new Uint8Array(Buffer.from(text))),
  new Uint8Array([0xff, 0xc0, 0x00, 0x80]),
  new Uint8Array(),
  null,
]

export const oddLetter: fc.Arbitrary<Letter> = fc
  .record({
    id: fc.constantFrom(...IDS),
    buriedAt: fc.integer({ min: 0, max: 6 }).map((n) => START + n * 100_000),
    service: fc.constantFrom(...SERVICES),
    topic: fc.constantFrom(...TOPICS),
    category: fc.constantFrom(...CATEGORIES),
    kind: fc.constantFrom(...KINDS),
    fingerprint: fc.constantFrom(...PRINTS),
    error: fc.constantFrom(...ERRORS),
    reason: fc.constantFrom('permanent' as const, 'poison' as const),
    code: fc.constantFrom(...CODES),
    type: fc.constantFrom(...TYPES),
    data: fc.constantFrom(...DATA),
  })
  .map(({ code, type, data, ...over }) => {
    const [{ code: _, event, ...plain }] = sampleLetters(1, START) as [Letter]
    return { ...plain, ...over, event: { ...event, type, data }, ...(code !== undefined && { code }) }
  })

const maybe = <T>(arbitrary: fc.Arbitrary<T>, weight = 1): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight, arbitrary })

export const oddFilter: fc.Arbitrary<LetterFilter> = fc
  .record({
    ids: maybe(fc.subarray([...IDS, 'unknown'])),
    beginning: maybe(fc.constantFrom('0', '00', '11111', '\u0000')),
    service: maybe(fc.constantFrom(...SERVICES, 'nobody')),
    topic: maybe(fc.constantFrom(...TOPICS)),
    type: maybe(fc.constantFrom(...TYPES)),
    category: maybe(fc.constantFrom(...CATEGORIES)),
    kind: maybe(fc.constantFrom(...KINDS)),
    code: maybe(fc.constantFrom('E_ONE', "quote'")),
    fingerprint: maybe(fc.constantFrom(...PRINTS)),
    states: maybe(fc.subarray([...STATES]), 3),
    from: maybe(fc.constantFrom(START, START + 200_000)),
    to: maybe(fc.constantFrom(START + 200_000, START + 1_000_000)),
    error: maybe(fc.constantFrom('REFUSED connection', 'order')),
    payload: maybe(fc.constantFrom('words', '250 sku', '\u0000')),
    where: maybe(fc.constantFrom('$.order.total > 100', '$.order exists', '$.lines[*].sku = "a-7"')),
  })
  .map((filter) => Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)))

export type LetterStep =
  | { readonly do: 'keep'; readonly letters: readonly Letter[] }
  | {
      readonly do: 'mark'
      readonly ids: readonly string[]
      readonly from: LetterState
      readonly to: LetterState
    }
  | { readonly do: 'tend'; readonly print: string; readonly owner: string | null }
  | { readonly do: 'regroup' }

export const letterSteps: fc.Arbitrary<readonly LetterStep[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('keep' as const),
        letters: fc.array(oddLetter, { minLength: 1, maxLength: 5 }),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('mark' as const),
        ids: fc.array(fc.constantFrom(...IDS), { minLength: 1, maxLength: 6 }),
        from: fc.constantFrom(...STATES),
        to: fc.constantFrom(...STATES),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('tend' as const),
        print: fc.constantFrom(...PRINTS),
        owner: fc.constantFrom('ann', 'nul\u0000 and \\', null),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ do: 'regroup' as const }) },
  ),
  { minLength: 3, maxLength: 12, size: 'max' },
)

/** What the store answers to one step. */
export const doStep = async (letters: Letters, step: LetterStep, n: number): Promise<unknown> => {
  const at = START + n * 100_000
  if (step.do === 'keep') return letters.keep(step.letters)
  if (step.do === 'mark')
    return letters.mark(step.ids.map((id) => ({ id, from: [step.from, 'open'], to: step.to, at })))
  if (step.do === 'tend') return letters.groups.tend(step.print, { owner: step.owner, note: 'n' }, at)
  return letters.groups.regroup('f0-old', ({ id }) => (id < '08' ? 'f1-a' : 'f1-c'), 100)
}

/** All that can be asked of the letters, in an order of its own where none is promised. */
export const lookAt = async (letters: Letters, filters: readonly LetterFilter[]): Promise<unknown> => {
  const { groups } = letters
  const found = []
  for (const filter of filters) {
    const page = await letters.find(filter, 5)
    const next = page.length === 5 ? await letters.find(filter, 50, page[4]!.letter.id) : []
    found.push({
      filter,
      ids: [...page, ...next].map(({ letter, state, stateAt }) => [letter.id, state, stateAt, letter.error]),
      data: page.map(({ letter }) => letter.event.data && Buffer.from(letter.event.data).toString('hex')),
      count: await letters.count(filter),
      upTo: await letters.countUpTo(filter, 100),
    })
  }
  const inOrder = <T>(some: readonly T[]) => some.map((each) => JSON.stringify(sorted(each))).sort()
  return {
    found,
    groups: await groups.list('', 10),
    some: await groups.list('f1', 10, 'f1-b'),
    tallies: inOrder(await groups.tallies()),
    ofOne: inOrder(await groups.tallies('f1-a')),
    arrivals: inOrder(await groups.arrivals(0)),
    ofB: inOrder(await groups.arrivals(START + 300_000, 'f1-b')),
    oldest: await groups.oldest(['open', 'quarantined']),
    resolved: await groups.oldest(['resolved'], 'mail-svc'),
  }
}

const sorted = (value: unknown): unknown => Object.fromEntries(Object.entries(value as object).sort())
