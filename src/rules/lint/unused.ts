import type { RuleBook } from '../book.ts'
import { APP_STORE, BREAKERS, DEPENDENCIES, TIMEOUTS } from '../builtin.ts'
import type { Path } from '../place.ts'
import type { WrittenRules } from '../schema.ts'
import type { Remark } from './finding.ts'
import type { CheckId } from './ids.ts'
import { type Check, levelsIn } from './scope.ts'

const SECTIONS = ['policies', 'breakers', 'dependencies', 'timeouts', 'stores'] as const
type Section = (typeof SECTIONS)[number]

const ID = {
  policies: 'unused-policy',
  breakers: 'unused-breaker',
  dependencies: 'unused-dependency',
  timeouts: 'unused-timeout',
  stores: 'unused-store',
} as const satisfies Record<Section, CheckId>

/** Whoever changes a built-in one means all who use it, the code and Dapr's sidecar included. */
const BUILT_IN: Readonly<Record<Section, (name: string, book: RuleBook) => boolean>> = {
  policies: (name, { written }) => written.policies?.[name]?.extends === name,
  breakers: (name) => BREAKERS.has(name),
  dependencies: (name) => DEPENDENCIES.has(name),
  timeouts: (name) => TIMEOUTS.has(name),
  stores: (name) => name === APP_STORE,
}

/** What is defined and never asked for: a slip in a name, or something to be swept out. */
export const unused: Check = ({ book }) => ({
  *whole() {
    const used = usedIn(book)
    for (const section of SECTIONS) {
      for (const name of Object.keys(book.written[section] ?? {})) {
        if (used[section].has(name) || BUILT_IN[section](name, book)) continue
        yield { id: ID[section], path: [section, name], ...TOLD[section](name) }
      }
    }
    yield* batchers(book)
  },
})

const TOLD: Readonly<Record<Section, (name: string) => Pick<Remark, 'reason' | 'fix'>>> = {
  policies: (name) => ({
    reason: `no event has the policy ${name}`,
    fix: 'choose it somewhere, or take it away',
  }),
  breakers: (name) => ({
    reason: `no event and no dependency has the breaker ${name}`,
    fix: 'choose it somewhere, or take it away',
  }),
  dependencies: (name) => ({
    reason: `no event names ${name} in its 'dependencies': while it is down its events are still pulled, to be put off one by one`,
    fix: `write 'dependencies: [${name}]' with the events that call it, or take it away`,
  }),
  timeouts: (name) => ({
    reason: `nothing has the timeout ${name}`,
    fix: 'choose it somewhere, or take it away',
  }),
  stores: (name) => ({
    reason: `no 'idempotency' names the store ${name}`,
    fix: 'choose it somewhere, or take it away',
  }),
}

const usedIn = (book: RuleBook): Readonly<Record<Section, ReadonlySet<string>>> => {
  const { policies = {}, breakers = {}, dependencies = {} } = book.written
  const used = Object.fromEntries(SECTIONS.map((section) => [section, new Set<string>()])) as Record<
    Section,
    Set<string>
  >
  /** A name, or something written in place over the one that it extends. */
  const note = (section: Section, what: unknown): void => {
    if (typeof what === 'string') used[section].add(what)
    else if (what !== null && typeof what === 'object' && 'extends' in what) note(section, what.extends)
  }
  const extendedIn = (section: Section, own: Readonly<Record<string, { extends?: string | undefined }>>) => {
    for (const [name, says] of Object.entries(own)) if (says.extends !== name) note(section, says)
  }
  extendedIn('policies', policies)
  extendedIn('breakers', breakers)
  extendedIn('dependencies', dependencies)
  for (const { timeout, breaker } of Object.values(dependencies)) {
    note('timeouts', timeout)
    note('breakers', breaker)
  }
  const row = (says: WrittenRules): void => {
    note('policies', says.policy)
    note('breakers', says.breaker)
    note('timeouts', says.timeout)
    note('stores', says.idempotency?.store)
    for (const each of says.dependencies ?? []) note('dependencies', each)
  }
  for (const { says } of levelsIn(book)) row(says)
  const { components = {}, apps = {} } = book.dapr
  const targets = [
    ...Object.values(components).flatMap(({ inbound, outbound }) => [inbound, outbound]),
    ...Object.values(apps),
  ]
  for (const target of targets) {
    note('policies', target?.policy)
    note('breakers', target?.breaker)
    note('timeouts', target?.timeout)
  }
  return used
}

function* batchers(book: RuleBook): Generator<Remark> {
  const everywhere = new Set<string>()
  const remark = (path: Path, name: string): Remark => ({
    id: 'unused-batcher',
    path: [...path, 'batchers', name],
    reason: `no event is collected by the batcher ${name}`,
    fix: `write 'batch: ${name}' with an event, or 'priorities' with the batcher, or take it away`,
  })
  const common = typeof book.defaults.batch === 'string' ? [book.defaults.batch] : []
  for (const [service, { events = {}, batch, batchers: own = {} }] of book.services) {
    const named = [batch, ...Object.values(events).map((row) => row.batch)]
    const used = new Set([...common, ...named.filter((name) => typeof name === 'string')])
    for (const name of used) everywhere.add(name)
    for (const [name, { priorities }] of Object.entries(own)) {
      // one that takes what the defaults' one took has its priorities from there
      const takes = priorities ?? book.defaults.batchers?.[name]?.priorities
      if (!used.has(name) && !takes?.length) yield remark(['services', service], name)
    }
  }
  for (const [name, { priorities }] of Object.entries(book.defaults.batchers ?? {})) {
    if (everywhere.has(name) || common.includes(name) || priorities?.length) continue
    yield remark(['defaults'], name)
  }
}
