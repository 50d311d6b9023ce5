import { AssertionError } from 'node:assert'
import type { Fact } from '../contracts/journal.ts'
import type { Category, Kind } from '../core/failure.ts'
import type { DeathReason, Letter } from '../core/letter.ts'
import type { Instant, Millis } from '../core/time.ts'
import { story } from './story.ts'

export type DoneFact = Extract<Fact, { is: 'done' }>
export type RetryFact = Extract<Fact, { is: 'retry' }>

/** What is left out may be anything. */
export interface DoneWanted {
  readonly type?: string
  readonly service?: string
  /** An event's id. */
  readonly event?: string
  /** On which attempt. */
  readonly attempt?: number
  /** How many. Default: one, or more. */
  readonly times?: number
}

export interface DeadWanted {
  readonly type?: string
  readonly service?: string
  readonly event?: string
  readonly reason?: DeathReason
  readonly category?: Category
  readonly kind?: Kind
  /** Attempts spent. */
  readonly attempts?: number
  readonly destination?: string
  readonly times?: number
}

/** What a test may look at after the fact, and what it may insist on: by errors of `node:assert`, for any runner. */
export interface Looking {
  readonly facts: readonly Fact[]
  /** Successes, of one type or of all. */
  done(type?: string): readonly DoneFact[]
  /** Dead letters, oldest first, of one type or of all. */
  dead(type?: string): readonly Letter[]
  /** The retries of an event, by its id. */
  retries(event: string): readonly RetryFact[]
  expectDone(wanted?: string | DoneWanted): void
  expectDead(wanted?: string | DeadWanted): void
  /** Each wait of an event lies in its range, and there are no more and no fewer. */
  expectDelays(event: string, ranges: readonly (readonly [least: Millis, most: Millis])[]): void
}

export const createLooking = (
  facts: readonly Fact[],
  letters: readonly Letter[],
  start: Instant,
): Looking => {
  const done = (type?: string): readonly DoneFact[] =>
    facts.filter((fact) => fact.is === 'done').filter((fact) => type === undefined || fact.type === type)
  const dead = (type?: string): readonly Letter[] =>
    letters.filter(({ event }) => type === undefined || event.type === type)
  const retries = (event: string): readonly RetryFact[] =>
    facts.filter((fact) => fact.is === 'retry').filter((fact) => fact.event === event)

  const refuse = (message: string, actual: unknown, expected: unknown, operator: string): never => {
    const whole = `${message}\n\nWhat happened:\n${story(facts, start)}${hint(facts)}`
    throw new AssertionError({ message: whole, actual, expected, operator })
  }
  const insist = (what: string, wanted: object, seen: readonly object[], operator: string): void => {
    const { times, ...shape } = wanted as { times?: number }
    const fitting = seen.filter((each) => fits(each, shape))
    if (times === undefined ? fitting.length > 0 : fitting.length === times) return
    const number = times === undefined ? `a ${what}` : `${times} × ${what}`
    const found = seen.length === 0 ? 'none at all' : seen.map((each) => `\n  ${show(each)}`).join('')
    const count = times === undefined ? '' : ` ${fitting.length} fitting, of`
    refuse(`expected ${number} with ${show(shape)}; found${count} ${found}`, seen, wanted, operator)
  }

  return {
    facts,
    done,
    dead,
    retries,
    expectDone: (wanted = {}) => {
      const seen = done().map(({ type, service, event, attempt }) => ({ type, service, event, attempt }))
      insist('success', typeof wanted === 'string' ? { type: wanted } : wanted, seen, 'expectDone')
    },
    expectDead: (wanted = {}) => {
      const seen = letters.map(({ service, event, reason, category, kind, trail, destination }) => ({
        ...{ type: event.type, service, event: event.id, reason, category, kind },
        ...{ attempts: trail.spent, destination },
      }))
      insist('dead letter', typeof wanted === 'string' ? { type: wanted } : wanted, seen, 'expectDead')
    },
    expectDelays: (event, ranges) => {
      const delays = retries(event).map(({ delay }) => delay)
      const wrong = delays.findIndex((delay, i) => !ranges[i] || delay < ranges[i][0] || delay > ranges[i][1])
      if (wrong < 0 && delays.length === ranges.length) return
      const where = wrong >= 0 && ranges[wrong] ? `; retry ${wrong + 1} waited ${delays[wrong]} ms` : ''
      const told = ranges.map(([least, most]) => `${least}–${most}`).join(', ')
      const message = `expected event ${event} to wait ${ranges.length} times, [${told}] ms; it waited ${delays.length} times, [${delays.join(', ')}] ms${where}`
      refuse(message, delays, ranges, 'expectDelays')
    },
  }
}

const fits = (each: object, shape: object): boolean =>
  Object.entries(shape).every(
    ([key, value]) => value === undefined || (each as Record<string, unknown>)[key] === value,
  )

const show = (shape: object): string => {
  const parts = Object.entries(shape).map(([key, value]) => `${key} ${String(value)}`)
  return parts.length === 0 ? 'anything' : parts.join(', ')
}

/** The commonest riddle of virtual time, told where it shows. */
export const hint = (facts: readonly Fact[]): string =>
  facts.some((fact) => fact.is === 'failed' && fact.failure.kind === 'timeout') ? `\n\n${TIMERS}` : ''

export const TIMERS = `An attempt timed out. If it waited for a timer, a socket or a file of its own: virtual time does not wait for those.
Let it wait by \`app.clock.sleep\`, put something that answers at once in the place of the dependency, or run
the app in real time.`
