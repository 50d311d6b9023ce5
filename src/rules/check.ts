import { POLICIES } from '../core/policy.ts'
import { checkBreakers, checkServices } from './check-services.ts'
import { type Finding, type Loose, loose } from './loose.ts'
import type { Path } from './place.ts'
import { type BackoffKind, KEYS, NEEDED } from './policies.ts'

/** Looks at the tree as it is, right or wrong, so that everything is told at once with what the schema finds. */
export const checkBook = (root: unknown): readonly Finding[] => {
  const book = loose(root)
  const written = loose(book.policies)
  const findings: Finding[] = []
  const look = (path: Path, policy: unknown) => findings.push(...checkPolicy(path, loose(policy), written))

  for (const [name, policy] of Object.entries(written)) {
    look(['policies', name], policy)
    findings.push(...checkShadow(name, loose(policy)))
  }
  look(['defaults', 'policy'], loose(book.defaults).policy)
  for (const [service, rules] of Object.entries(loose(book.services))) {
    look(['services', service, 'policy'], loose(rules).policy)
    for (const [event, row] of Object.entries(loose(loose(rules).events))) {
      look(['services', service, 'events', event, 'policy'], loose(row).policy)
    }
  }
  for (const section of ['policies', 'dependencies', 'breakers']) {
    findings.push(...checkCircles(section, loose(book[section])))
  }
  findings.push(...checkBreakers(book))
  findings.push(...checkForeign(loose(book.foreign)))
  return [...findings, ...checkServices(book), ...checkTopics(loose(book.topics))]
}

const LONGEST_CHAIN = 16

/** The names that `extends` leads to, the first included; a name that extends itself means the built-in one. */
const chain = (start: string, written: Loose): { readonly names: readonly string[]; endless: boolean } => {
  const names: string[] = []
  let name = start
  while (Object.hasOwn(written, name)) {
    if (names.length === LONGEST_CHAIN) return { names, endless: true }
    names.push(name)
    const next = loose(written[name]).extends
    if (typeof next !== 'string' || next === name) break
    name = next
  }
  return { names, endless: false }
}

function* checkCircles(section: string, written: Loose): Generator<Finding> {
  for (const name of Object.keys(written)) {
    if (!chain(name, written).endless) continue
    const found = `'${loose(written[name]).extends}', which leads in a circle`
    const expected = `an end after at most ${LONGEST_CHAIN} steps`
    yield { path: [section, name, 'extends'], at: 'value', found, expected }
  }
}

function* checkShadow(name: string, policy: Loose): Generator<Finding> {
  if (!Object.hasOwn(POLICIES, name) || policy.extends !== undefined) return
  const expected = `another name, or 'extends: ${name}' to change the built-in one on purpose`
  yield { path: ['policies', name], at: 'key', found: `the built-in policy '${name}' again`, expected }
}

/** The backoff a policy has, its own or what it extends; undefined where that can't be known. */
const kindOf = (policy: Loose, written: Loose): unknown => {
  if (policy.backoff !== undefined) return policy.backoff
  if (typeof policy.extends !== 'string') return policy.extends === undefined ? 'exponential' : undefined
  const { names, endless } = chain(policy.extends, written)
  if (endless) return undefined
  const own = names.map((name) => loose(written[name])).find(({ backoff }) => backoff !== undefined)
  if (own) return own.backoff
  const last = names.at(-1)
  const root = last === undefined ? policy.extends : loose(written[last]).extends
  if (root === undefined) return 'exponential'
  return typeof root === 'string' && Object.hasOwn(POLICIES, root)
    ? POLICIES[root as keyof typeof POLICIES].backoff.kind
    : undefined
}

const ALL_KEYS = [...new Set(Object.values(KEYS).flat())]

export function* checkPolicy(path: Path, policy: Loose, written: Loose): Generator<Finding> {
  const kind = kindOf(policy, written)
  yield* checkKeys(path, policy, kind)
  const needed = NEEDED[kind as BackoffKind]
  if (needed && policy.backoff !== undefined && policy[needed] === undefined && !inherits(policy, written)) {
    yield { path, at: 'key', found: `backoff ${kind} without '${needed}'`, expected: `'${needed}' beside it` }
  }
  if (policy.retries !== undefined && policy.attempts !== undefined) {
    const expected = 'one of the two: attempts are the first one and the retries'
    yield { path: [...path, 'attempts'], at: 'key', found: "both 'retries' and 'attempts'", expected }
  }
  if (policy.backoff === 'none' && policy.extends === undefined) {
    if (policy.retries === undefined && policy.attempts === undefined) {
      const expected = "'retries' or 'attempts' beside it: how often to try again at once"
      yield { path, at: 'key', found: 'backoff none without a limit', expected }
    }
  }
  yield* checkTiers(path, policy.tiers)
}

/** Whether something up the chain has the same backoff, and so what it needs. */
const inherits = (policy: Loose, written: Loose): boolean =>
  policy.extends !== undefined && kindOf({ extends: policy.extends }, written) === policy.backoff

function* checkKeys(path: Path, policy: Loose, kind: unknown): Generator<Finding> {
  const allowed = KEYS[kind as BackoffKind]
  if (!allowed) return
  for (const key of ALL_KEYS) {
    if (policy[key] === undefined || allowed.includes(key)) continue
    const expected = allowed.length > 0 ? `only ${allowed.join(', ')} there` : 'no such key there'
    yield { path: [...path, key], at: 'key', found: `'${key}' beside backoff ${kind}`, expected }
  }
}

function* checkTiers(path: Path, tiers: unknown): Generator<Finding> {
  if (!Array.isArray(tiers)) return
  if (tiers.length === 0) {
    yield { path: [...path, 'tiers'], at: 'value', found: 'no tier', expected: 'at least one' }
  }
  let before = 0
  for (const [index, each] of tiers.entries()) {
    const tier = loose(each)
    const here = [...path, 'tiers', String(index)]
    yield* checkKeys(here, tier, tier.backoff)
    const needed = NEEDED[tier.backoff as BackoffKind]
    if (needed && tier[needed] === undefined) {
      yield {
        path: here,
        at: 'value',
        found: `backoff ${tier.backoff} without '${needed}'`,
        expected: `'${needed}' beside it`,
      }
    }
    if (typeof tier.upTo !== 'number') continue
    if (tier.upTo <= before) {
      yield {
        path: [...here, 'upTo'],
        at: 'value',
        found: `${tier.upTo} after ${before}`,
        expected: 'tiers that rise',
      }
    }
    before = tier.upTo
  }
}

function* checkTopics(topics: Loose): Generator<Finding> {
  const homes = new Map<string, string>()
  for (const [topic, entry] of Object.entries(topics)) {
    const [types, path] = Array.isArray(entry)
      ? [entry, ['topics', topic]]
      : [loose(entry).types, ['topics', topic, 'types']]
    if (!Array.isArray(types)) continue
    for (const [index, type] of types.entries()) {
      if (typeof type !== 'string') continue
      const home = homes.get(type)
      if (home !== undefined) {
        const expected = `each in one topic: it is in '${home}' already`
        yield { path: [...path, String(index)], at: 'value', found: `'${type}'`, expected }
      }
      homes.set(type, home ?? topic)
    }
  }
}

function* checkForeign(foreign: Loose): Generator<Finding> {
  for (const [name, entry] of Object.entries(foreign)) {
    const { replay, service, topic } = loose(entry)
    if (replay !== 'service' || (service !== undefined && topic !== undefined)) continue
    const expected = 'service and topic beside it: which subscription is meant'
    yield { path: ['foreign', name, 'replay'], at: 'value', found: "'service'", expected }
  }
}
