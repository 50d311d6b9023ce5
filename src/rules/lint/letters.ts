import { isPrefix } from '../../core/pattern.ts'
import type { RuleBook } from '../book.ts'
import { showDuration } from '../duration.ts'
import { topicWord } from '../naming.ts'
import type { Path } from '../place.ts'
import type { Remark } from './finding.ts'
import type { Check, Pair } from './scope.ts'

interface Buried {
  readonly service: string
  readonly path: Path | undefined
}

/** Where dead letters go. */
export const letters: Check = ({ book }) => {
  const owners = new Map<string, Buried>()
  const subscribed = new Map<string, string>([[book.naming.receipts, 'the receipts of replays']])
  return {
    *pair(pair) {
      const { service, rules } = pair
      const { destination, quarantine } = rules.deadLetter
      if (!isPrefix(rules.topic)) subscribed.set(rules.topic, `the events of ${service}`)
      subscribed.set(`${service}.${topicWord(rules.topic)}`, `the queue of ${service}`)
      yield* unnamed(book, pair)
      if (destination === quarantine) yield* together(book, pair)
      for (const kind of ['destination', 'quarantine'] as const) {
        const name = rules.deadLetter[kind]
        const path = nameFrom(book, pair, kind)
        const owner = owners.get(name)
        if (!owner) owners.set(name, { service, path })
        else if (owner.service !== service) yield* shared(name, owner, { service, path })
        else if (!owner.path && path) owners.set(name, { service, path })
      }
    },
    *whole() {
      for (const [name, { path }] of owners) {
        const taken = subscribed.get(name)
        if (taken === undefined || !path) continue
        yield {
          id: 'dead-letter-loop',
          path,
          reason: `dead letters would be sent to '${name}', where ${taken} arrive: they come back as events`,
          fix: "choose a name of their own, such as '_{service}.deadletter'",
        }
      }
    },
  }
}

/** Where the name of a destination is written: in the rules, or in the naming that holds for all. */
const nameFrom = (book: RuleBook, pair: Pair, kind: 'destination' | 'quarantine'): Path | undefined => {
  const own = pair.from(`deadLetter.${kind}`)
  if (own) return own
  const template = kind === 'destination' ? 'deadLetter' : 'quarantine'
  if (book.written.naming?.[template] !== undefined) return ['naming', template]
  // the quarantine's own template follows the destination
  return kind === 'quarantine' ? nameFrom(book, pair, 'destination') : undefined
}

function* unnamed(book: RuleBook, pair: Pair): Generator<Remark> {
  const { destination } = pair.rules.deadLetter
  const path = nameFrom(book, pair, 'destination')
  if (!path || destination.includes(pair.service)) return
  yield {
    id: 'dead-letter-name',
    path,
    reason: `'${destination}' does not say whose dead letters these are${pair.example(path)}`,
    fix: "put the service into the name, as in '_{service}.deadletter[.{channel}]' or '{queue}.dlq'",
  }
}

function* shared(name: string, before: Buried, now: Buried): Generator<Remark> {
  const path = now.path ?? before.path
  if (!path) return
  yield {
    id: 'dead-letter-shared',
    path,
    reason: `${before.service} and ${now.service} bury in one destination, '${name}': neither can be watched, expired or emptied alone`,
    fix: "give each service a destination of its own, as '{service}' or '{queue}' in the name does",
  }
}

function* together(book: RuleBook, pair: Pair): Generator<Remark> {
  const path = nameFrom(book, pair, 'quarantine')
  if (!path) return
  yield {
    id: 'dead-letter-shared',
    path,
    reason: `poison goes to '${pair.rules.deadLetter.quarantine}' with all other dead letters: a replay of all would let it out${pair.example(path)}`,
    fix: "give the quarantine a name of its own, such as '{deadLetter}.quarantine'",
  }
}

/** What tells people that letters are there. */
const NEEDED = ['inflow', 'depth', 'oldest'] as const

export const alarms: Check = () => ({
  *pair({ rules, from, example }) {
    const on = new Map(rules.alerts.map((alert) => [alert.metric, alert]))
    for (const metric of NEEDED) {
      const path = from(`alerts.${metric}`)
      if (on.has(metric) || !path) continue
      yield {
        id: 'no-alerts',
        path,
        reason: `nobody is told of dead letters by ${metric}${example(path)}`,
        fix: "give it a threshold instead of 'off', or take the line away: there is one built in",
      }
    }
    const oldest = on.get('oldest')?.threshold
    const { retention } = rules.deadLetter
    const path = from('deadLetter.retention') ?? from('alerts.oldest')
    if (oldest === undefined || oldest < retention || !path) return
    yield {
      id: 'retention-before-alert',
      path,
      reason: `letters are dropped after ${showDuration(retention)}, before the alert on their age at ${showDuration(oldest)}${example(path)}`,
      fix: `keep them longer, or set 'alerts: { oldest: { above: … } }' below ${showDuration(retention)}`,
    }
  },
})
