import type { Event } from '../../core/event.ts'
import type { Millis } from '../../core/time.ts'
import type { Choices } from './book.ts'
import type { Chance } from './chance.ts'
import { isTwin, TWIN } from './fate.ts'
import { START } from './scheduler.ts'

/** What a handler does with an event; a number after it says how often. */
export type Does =
  | 'ok'
  | 'at once' // answers without waiting for anything
  | 'flaky' // fails once or twice, then goes well
  | 'permanent'
  | 'unknown' // fails for no known reason, always
  | 'hangs' // until its time is over, the first time
  | 'deaf' // goes on when its time is over, the first time
  | 'slow' // needs most of its time
  | 'put off' // answers later(…) once
  | 'refused' // answers dead(…)
  | 'broken' // its data can't be read
  | 'kills' // the process, each time
  | 'stuns' // the process stands still for longer than its leases, so often that it would be quarantined for deaths
  | 'calls' // the dependency, which has an outage
  | 'drags' // its whole batch down for a while, the first time
  | 'spoils' // its whole batch, for good: by itself it dies

export interface Planned {
  readonly at: Millis
  readonly event: Event
  readonly does: Does
  /** Published once more, by a producer that is not sure. */
  readonly again?: Millis
}

/** The event that tells of the effect of this one. */
export const tellingOf = (event: Pick<Event, 'id' | 'headers'>) => ({
  id: `${event.id}-told${isTwin(event) ? '-twin' : ''}`,
  type: 'sum.told',
  data: { does: 'ok' as Does },
})

/** Which kinds of events a story has beside the common ones. */
export interface Cast {
  readonly batches: boolean
  readonly transactions: boolean
}

const COMMON = ['plain.made', 'plain.made', 'mail.sent', 'line.moved'] as const

/** Everything that is published, twins included. */
export const planEvents = (chance: Chance, choices: Choices, cast: Cast): readonly Planned[] => {
  const types = [
    ...COMMON,
    ...(cast.batches ? new Array<string>(8).fill('crowd.came') : []),
    ...(cast.transactions ? new Array<string>(4).fill('sum.booked') : []),
  ]
  const planOne = (n: number): Planned => {
    const common = types[chance.int(0, types.length - 1)]!
    const type = chance.happens(0.01) ? 'bomb.armed' : common
    const does = doesOf(type, n, chance)
    // those that are handled together must come together
    const at = type === 'crowd.came' ? chance.int(0, 1) * 2000 + chance.int(0, 15) : chance.int(0, 4000)
    const event: Event = {
      id: `e${n}`,
      source: chance.happens(0.8) ? 'simulator' : 'elsewhere',
      type,
      time: new Date(START + at).toISOString(),
      extensions: extensionsOf(type, at, chance, choices),
      headers: {},
      datacontenttype: 'application/json',
      data: Buffer.from(does === 'broken' ? '{' : JSON.stringify({ n, does })),
    }
    return { at, event, does, ...(chance.happens(0.1) && { again: at + chance.int(0, 6000) }) }
  }
  const planned = Array.from({ length: chance.int(6, 18) }, (_, n) => planOne(n))
  return [...planned, ...twinsOf(planned, chance)]
}

const extensionsOf = (type: string, at: Millis, chance: Chance, choices: Choices): Event['extensions'] => {
  const priority = chance.pick([undefined, undefined, 'high' as const])
  const isOrdered = type === 'line.moved' ? choices.ordered : type === 'crowd.came' && choices.batch.ordered
  const orderkey = isOrdered ? chance.pick(type === 'line.moved' ? FEW : MORE) : undefined
  const expirytime = chance.happens(0.12)
    ? new Date(START + at + chance.int(50, 4000)).toISOString()
    : undefined
  return { ...(orderkey && { orderkey }), ...(priority && { priority }), ...(expirytime && { expirytime }) }
}

/** Order keys: a line must get long, and a batch holds one of each only. */
const FEW = ['red', 'blue'] as const
const MORE = ['red', 'blue', 'green', 'grey'] as const

/** Somebody gave another event the id that one has already. */
const twinsOf = (planned: readonly Planned[], chance: Chance): readonly Planned[] => {
  const like = chance.happens(0.4) ? planned[chance.int(0, planned.length - 1)]! : undefined
  if (!like || like.event.type === 'bomb.armed') return []
  const does = doesOf(like.event.type, 0, chance)
  const data = Buffer.from(does === 'broken' ? '{{' : JSON.stringify({ does, twin: true }))
  const event = { ...like.event, headers: TWIN, data }
  const at = chance.int(0, 6000)
  return [{ at, event, does, ...(chance.happens(0.3) && { again: at + chance.int(0, 3000) }) }]
}

const doesOf = (type: string, n: number, chance: Chance): Does => {
  if (type === 'mail.sent') return 'calls'
  if (type === 'bomb.armed') return n % 2 === 0 ? 'kills' : 'stuns'
  if (type !== 'crowd.came') return chance.pick(ALONE)
  return chance.happens(0.01) ? 'kills' : chance.pick(TOGETHER)
}

type Some = readonly [Does, ...Does[]]

const ALONE: Some = [
  ...(['ok', 'ok', 'ok', 'at once', 'flaky', 'flaky', 'permanent', 'unknown'] as const),
  ...(['hangs', 'deaf', 'slow', 'put off', 'refused', 'broken'] as const),
]

/** Of a batch most must go well, or it is never seen that some do while others don't. */
const TOGETHER: Some = [...ALONE, 'ok', 'ok', 'ok', 'at once', 'flaky', 'drags', 'spoils']
