import { NO_BATCH } from './batches.ts'
import { type Finding, type Loose, loose } from './loose.ts'
import type { Path } from './place.ts'
import { oneOf } from './problem.ts'

/** What a service says of itself and its events, against each other. */
export function* checkServices(book: Loose): Generator<Finding> {
  const shared = Object.keys(loose(loose(book.defaults).batchers))
  yield* checkBatch(['defaults'], loose(book.defaults), new Set(shared))
  yield* checkDemand(['defaults', 'demand'], loose(loose(book.defaults).demand))
  for (const [service, written] of Object.entries(loose(book.services))) {
    const rules = loose(written)
    const path = ['services', service]
    const batchers = new Set([...shared, ...Object.keys(loose(rules.batchers))])
    yield* checkBatch(path, rules, batchers)
    yield* checkDemand([...path, 'demand'], loose(rules.demand))
    for (const [event, row] of Object.entries(loose(rules.events))) {
      if (isName(loose(row).batch)) yield* checkBatch([...path, 'events', event], loose(row), batchers)
    }
  }
}

const isName = (batch: unknown): batch is string => typeof batch === 'string' && batch !== NO_BATCH

function* checkBatch(path: Path, { batch }: Loose, batchers: ReadonlySet<string>): Generator<Finding> {
  if (!isName(batch) || batchers.has(batch)) return
  const expected =
    batchers.size === 0
      ? "a batcher of that name under 'batchers', or a mapping"
      : `the name of a batcher, ${oneOf(batchers, batch)}`
  yield { path: [...path, 'batch'], at: 'value', found: `'${batch}'`, expected }
}

function* checkDemand(path: Path, { min, max }: Loose): Generator<Finding> {
  if (typeof min !== 'number' || typeof max !== 'number' || min < max) return
  yield { path: [...path, 'min'], at: 'value', found: `${min} beside max ${max}`, expected: 'less than max' }
}

/** Wherever one is written: by name, for a dependency, for events. */
export function* checkBreakers(book: Loose): Generator<Finding> {
  for (const [name, breaker] of Object.entries(loose(book.breakers))) {
    yield* checkBreaker(['breakers', name], loose(breaker))
  }
  for (const [name, written] of Object.entries(loose(book.dependencies))) {
    const { extends: base, breaker } = loose(written)
    // what it extends may have a rate
    if (base === undefined) yield* checkBreaker(['dependencies', name, 'breaker'], loose(breaker))
  }
  yield* checkBreaker(['defaults', 'breaker'], loose(loose(book.defaults).breaker))
  for (const [service, written] of Object.entries(loose(book.services))) {
    const path = ['services', service]
    yield* checkBreaker([...path, 'breaker'], loose(loose(written).breaker))
    for (const [event, row] of Object.entries(loose(loose(written).events))) {
      yield* checkBreaker([...path, 'events', event, 'breaker'], loose(loose(row).breaker))
    }
  }
}

/** `window` and `volume` say how the rate is counted: without one they would be read by nobody. */
function* checkBreaker(path: Path, breaker: Loose): Generator<Finding> {
  if (breaker.rate !== undefined || breaker.extends !== undefined) return
  for (const key of ['window', 'volume']) {
    if (breaker[key] === undefined) continue
    yield { path: [...path, key], at: 'key', found: `'${key}' without 'rate'`, expected: "'rate' beside it" }
  }
}
