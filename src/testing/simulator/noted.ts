import type { Delivery } from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import type { LedgerKey } from '../../core/ledger.ts'
import type { Parcel } from '../../core/parcel.ts'
import type { Instant } from '../../core/time.ts'
import { type Fate, isTwin, nameOf, newFate, type Out } from './fate.ts'
import type { Concern } from './life.ts'
import { createLines, type Lines } from './lines.ts'
import type { Broken, Violation } from './violation.ts'

/** What the model has noted so far. */
export interface Noted {
  readonly now: () => Instant
  readonly trace: (who: string, what: string) => void
  readonly fates: Map<string, Fate>
  readonly violations: Violation[]
  readonly broken: Broken
  /** Those that share an id. */
  readonly namesakes: (concern: Concern) => readonly Fate[]
  readonly fateOf: (service: string, event: Pick<Event, 'id' | 'headers'>) => Fate
  readonly fateOfKey: (key: LedgerKey) => Fate
  /** Later than all that was noted before. */
  readonly next: () => number
  readonly outs: Map<Delivery, Out>
  /** Who was handed this parcel last: only that one may settle it. */
  readonly latest: WeakMap<Parcel, Out>
  readonly lines: Lines
}

export const createNoted = (now: () => Instant, trace: Noted['trace']): Noted => {
  const fates = new Map<string, Fate>()
  const violations: Violation[] = []
  let moment = 0
  const namesakes: Noted['namesakes'] = ({ service, id }) =>
    [false, true].flatMap((twin) => fates.get(nameOf({ service, id, twin })) ?? [])
  const broken: Broken = (law, what) => {
    trace('model', `${law} broken: ${what}`)
    violations.push({ law, what, at: now() })
  }
  const fateOf: Noted['fateOf'] = (service, event) => {
    const name = { service, id: event.id, twin: isTwin(event) }
    const fate = fates.get(nameOf(name))
    if (fate) return fate
    const unknown = newFate({ ...name, ...UNKNOWN })
    fates.set(nameOf(unknown), unknown)
    broken('contract', `${nameOf(unknown)} was never published`)
    return unknown
  }
  return {
    ...{ now, trace, fates, violations, broken, namesakes, fateOf },
    fateOfKey: (key) =>
      namesakes(key).find(({ hash }) => hash === key.hash) ??
      fateOf(key.service, { id: key.id, headers: {} }),
    next: () => ++moment,
    outs: new Map(),
    latest: new WeakMap(),
    lines: createLines(),
  }
}

const UNKNOWN = {
  ...{
    hash: '',
    type: '?',
    does: '?',
    limit: 1,
    timeout: 0,
    dedup: false,
    transaction: false,
    outgoing: false,
  },
  ...{ holds: false, expires: Number.POSITIVE_INFINITY },
}
