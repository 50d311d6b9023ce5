import type { RuleBook } from './book.ts'
import { APP_STORE, DEFAULTS } from './builtin.ts'
import type { Picker } from './levels.ts'
import { fillName, KIND, topicWord } from './naming.ts'
import type { DeadLetter, Idempotency } from './rules.ts'
import type { WrittenRules } from './schema.ts'

/** What becomes of an event that was seen before, and of one that can't be saved. */

type Pick = Picker<WrittenRules>

export const resolveIdempotency = (
  book: RuleBook,
  { pick, note, noteWritten }: Pick,
  topic: string,
): Idempotency => {
  const retention = book.topics.get(topic)?.retention
  const own = pick('idempotency.ttl', (says) => says.idempotency?.ttl)
  if (own === undefined) {
    if (retention === undefined) note('idempotency.ttl', 'built in')
    else noteWritten('idempotency.ttl', ['topics', topic, 'retention'])
  }
  return {
    pattern: pick('idempotency.pattern', (says) => says.idempotency?.pattern, DEFAULTS.pattern),
    store: pick('idempotency.store', (says) => says.idempotency?.store, APP_STORE),
    // What the broker has forgotten can't come again: to remember it longer would be of no use.
    ttl: own ?? retention ?? DEFAULTS.ledgerTtl,
    key: pick('idempotency.key', (says) => says.idempotency?.key, DEFAULTS.ledgerKey),
  }
}

export const resolveDeadLetter = (
  book: RuleBook,
  { pick, noteWritten }: Pick,
  { service, topic, channel }: { service: string; topic: string; channel: string | undefined },
): DeadLetter => {
  const template = (name: 'deadLetter' | 'quarantine', path: string, own: string | undefined) => {
    if (own === undefined) noteWritten(path, ['naming', name])
    return own ?? book.naming[name]
  }
  const word = topicWord(topic)
  const values = { service, topic: word, queue: `${service}.${word}`, channel }
  const path = 'deadLetter.destination'
  const ownDestination = pick(path, (says) => says.deadLetter?.destination)
  const destination = fillName(template('deadLetter', path, ownDestination), values)
  const aside = 'deadLetter.quarantine'
  const ownQuarantine = pick(aside, (says) => says.deadLetter?.quarantine)
  const quarantine = template('quarantine', aside, ownQuarantine)
  const expire = pick('deadLetter.expire', (says) => says.deadLetter?.expire)
  return {
    destination,
    // the kind is not known before something fails: its place is kept
    quarantine: fillName(quarantine, { ...values, deadLetter: destination, kind: KIND }),
    retention: pick('deadLetter.retention', (says) => says.deadLetter?.retention, DEFAULTS.retention),
    ...(expire !== undefined && { expire }),
    reprocessing: pick(
      'deadLetter.reprocessing',
      (says) => says.deadLetter?.reprocessing,
      DEFAULTS.reprocessing,
    ),
    ...(channel !== undefined && { channel }),
  }
}
