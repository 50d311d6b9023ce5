import type { RuleBook } from '../book.ts'
import { DEPENDENCIES, NO_BREAKER } from '../builtin.ts'
import { showDuration } from '../duration.ts'
import type { Path } from '../place.ts'
import type { WrittenBreaker } from '../schema.ts'
import type { Remark } from './finding.ts'
import { type Check, levelsIn, type Pair } from './scope.ts'

export const guards: Check = ({ book }) => ({
  pair: function* (pair) {
    yield* unguarded(pair)
    yield* outlasting(pair)
    yield* burying(pair)
  },
  *whole() {
    for (const { path, says } of breakersIn(book)) {
      if (says.open !== 0) continue
      yield {
        id: 'breaker-without-open',
        path: [...path, 'open'],
        reason: 'a breaker that is open for no time holds nothing back',
        fix: "write how long it stays open, such as 'open: 30s'",
      }
    }
    yield* dependencies(book)
  },
})

function* breakersIn(book: RuleBook): Generator<{ readonly path: Path; readonly says: WrittenBreaker }> {
  const { breakers = {}, dependencies: named = {} } = book.written
  for (const [name, says] of Object.entries(breakers)) yield { path: ['breakers', name], says }
  for (const [name, { breaker }] of Object.entries(named)) {
    if (typeof breaker === 'object') yield { path: ['dependencies', name, 'breaker'], says: breaker }
  }
  for (const { says, path } of levelsIn(book)) {
    if (typeof says.breaker === 'object') yield { path: [...path, 'breaker'], says: says.breaker }
  }
}

function* dependencies(book: RuleBook): Generator<Remark> {
  for (const [name, says] of Object.entries(book.written.dependencies ?? {})) {
    const path = ['dependencies', name]
    if (says.breaker === NO_BREAKER) {
      yield {
        id: 'dependency-without-breaker',
        path: [...path, 'breaker'],
        reason: `nothing stops the calls to ${name} while it is down`,
        fix: "take 'breaker: none' away, or name a breaker",
      }
    }
    if (DEPENDENCIES.has(name) || says.extends !== undefined) continue
    if (says.timeout === undefined && Object.keys(says.timeouts ?? {}).length === 0) {
      yield {
        id: 'default-timeout',
        path,
        reason: `how long ${name} may take is left to the default of ${showDuration(book.dependencies.get(name)!.timeout)}`,
        fix: "write its 'timeout'",
      }
    }
  }
}

function* unguarded({ rules, from, example }: Pair): Generator<Remark> {
  if (rules.policy.retries === 0 || rules.breaker) return
  const bare = rules.dependencies.find(({ breaker }) => !breaker)
  // without a word on breakers and dependencies nothing is known: `ctx.call` guards whatever it is given
  const path = bare ? from('dependencies') : rules.dependencies.length === 0 ? from('breaker') : undefined
  if (!path) return
  yield {
    id: 'retry-without-breaker',
    path,
    reason: bare
      ? `it is tried again against ${bare.name}, which no breaker guards${example(path)}`
      : `it is tried again, and nothing stops that while all fail${example(path)}`,
    fix: "give the dependency a breaker, or the event one of its own such as 'breaker: handlerBreaker'",
  }
}

/** What has failed once waits for the breaker, and dies waiting. */
function* burying({ rules, from, example }: Pair): Generator<Remark> {
  const { window, retries } = rules.policy
  if (window === undefined || retries === 0) return
  const longest = [...rules.dependencies.flatMap(({ name, breaker }) => (breaker ? [{ name, breaker }] : []))]
  if (rules.breaker) longest.push({ name: rules.breaker.name, breaker: rules.breaker })
  for (const { name, breaker } of longest) {
    const path = from('policy') ?? from('dependencies') ?? from('breaker')
    if (breaker.open <= window || !path) continue
    yield {
      id: 'open-outlasts-window',
      path,
      reason: `the breaker of ${name} stays open for ${showDuration(breaker.open)}, and a retry may come at most ${showDuration(window)} after the first failure: one trip buries all that has failed once${example(path)}`,
      fix: `give the event a policy whose window is longer than ${showDuration(breaker.open)}, or let the breaker open for less`,
    }
  }
}

function* outlasting({ rules, from, example }: Pair): Generator<Remark> {
  for (const [index, { name, timeout }] of rules.dependencies.entries()) {
    if (timeout <= rules.timeout) continue
    const path = [...from('dependencies')!, String(index)]
    yield {
      id: 'dependency-outlasts-handler',
      path,
      reason: `${name} may take ${showDuration(timeout)}, and the attempt ends after ${showDuration(rules.timeout)}${example(path)}`,
      fix: `raise the event's 'timeout' to ${showDuration(timeout)} or more, or shorten the dependency's`,
    }
  }
}
