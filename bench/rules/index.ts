import { type RuleBook, readRules, rulesFor } from '../../src/rules/index.ts'
import type { OpenBench } from '../bench.ts'
import type { Contender } from '../harness.ts'
import { versionOf } from '../versions.ts'
import { bookOf, eventOf, serviceOf } from './book.ts'

/** Twice the rows, twice the time: the rate must not fall much. Beside a busy neighbour it does by a little. */
const LINEAR = 0.8

/** An event is a row that was read: in so many books of equal size. */
const loading = (name: string, books: number, aim?: number): Contender => ({
  name,
  ...(aim !== undefined && { aim }),
  prepare: async (events) => {
    const edges = Array.from({ length: books + 1 }, (_, index) => Math.floor((events * index) / books))
    const texts = edges.slice(1).map((edge, index) => bookOf(edge - edges[index]!))
    return {
      run: async () => {
        const began = performance.now()
        const rows = texts.map((text) => rowsIn(readRules(text, 'bench.yaml')))
        const ms = (performance.now() - began) / books
        return {
          events: rows.reduce((sum, each) => sum + each, 0),
          counts: { 'ms a book': Math.round(ms), 'kB a book': Math.round((texts[0]?.length ?? 0) / 1000) },
        }
      },
      close: async () => {},
    }
  },
})

const rowsIn = ({ services }: RuleBook): number =>
  [...services.values()].reduce((sum, { events }) => sum + Object.keys(events ?? {}).length, 0)

type Ask = (service: string, event: string) => object

/** An event is a pair that was asked for: every pair of a book twice. */
const resolving = (
  name: string,
  aim: number | undefined,
  ready: (book: RuleBook) => readonly [Ask, Ask],
): Contender => ({
  name,
  ...(aim !== undefined && { aim }),
  prepare: async (events) => {
    const rows = Math.ceil(events / 2)
    const asks = ready(readRules(bookOf(rows), 'bench.yaml'))
    const pairs = Array.from({ length: rows }, (_, row) => [serviceOf(row), eventOf(row)] as const)
    return {
      run: async () => {
        let found = 0
        const began = performance.now()
        for (const ask of asks) {
          for (const [service, event] of pairs) {
            if (found < events && ask(service, event)) found++
          }
        }
        const each = ((performance.now() - began) * 1000) / events
        return { events: found, counts: { 'µs a pair': Number(each.toFixed(2)) } }
      },
      close: async () => {},
    }
  },
})

const twice = (ask: Ask): readonly [Ask, Ask] => [ask, ask]

/** What one would write by hand, had one the finished rules of every pair already. */
const byHand = (book: RuleBook): Ask => {
  const finished = new Map(
    [...book.services].map(([service, { events }]) => [service, new Map(Object.entries(events ?? {}))]),
  )
  return (service, event) => finished.get(service)!.get(event)!
}

const warm = (book: RuleBook): Ask => {
  for (const [service, { events }] of book.services) {
    for (const event of Object.keys(events ?? {})) rulesFor(book, service, event)
  }
  return (service, event) => rulesFor(book, service, event)
}

/** A copy of a book is another book: nothing about it was asked before. */
const cold = (book: RuleBook, ask: (book: RuleBook) => Ask): readonly [Ask, Ask] => [
  ask({ ...book }),
  ask({ ...book }),
]

export const open: OpenBench = async () => ({
  events: 80_000,
  env: {},
  versions: { yaml: await versionOf('yaml'), zod: await versionOf('zod') },
  races: [
    {
      name: 'load, rows a second',
      contenders: [
        loading('500 services × 20', 8),
        loading('1,000 services × 20', 4, LINEAR),
        loading('2,000 services × 20', 2, LINEAR),
        loading('4,000 services × 20', 1, LINEAR),
      ],
    },
    {
      name: 'resolve, of 2,000 services × 20',
      contenders: [
        resolving('raw', undefined, (book) => twice(byHand(book))),
        resolving('reprieve, asked before', undefined, (book) => twice(warm(book))),
        resolving('reprieve, asked first', undefined, (book) =>
          cold(book, (own) => (service, event) => rulesFor(own, service, event)),
        ),
        resolving('reprieve, asked first, with every line', undefined, (book) =>
          cold(book, (own) => (service, event) => rulesFor(own, service, event).provenance),
        ),
      ],
    },
  ],
  probes: [],
  close: async () => {},
})
