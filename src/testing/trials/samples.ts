import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Settlement, Subscription } from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import type { Failure } from '../../core/failure.ts'
import type { LedgerKey } from '../../core/ledger.ts'
import { type Letter, writeLetter } from '../../core/letter.ts'
import type { Parcel } from '../../core/parcel.ts'
import { extendTrail } from '../../core/trail.ts'
import type { TrialWorld } from './trial.ts'

export const sampleFailure = (over: Partial<Failure> = {}): Failure => ({
  category: 'transient',
  kind: 'integration',
  name: 'ConnectError',
  message: 'no answer from smtp.example.org — gave up',
  code: 'ECONNREFUSED',
  status: 503,
  stack: 'ConnectError: no answer\n    at send (mailer.ts:1:1)',
  because: 'a trial says so',
  ...over,
})

/** The parcel after one more failed attempt, due again later. */
export const failedOnce = (world: TrialWorld, { event, trail }: Parcel, wait: number): Parcel => ({
  event,
  trail: extendTrail(trail, sampleFailure(), world.now()),
  due: world.now() + wait,
})

export const letterFor = (
  world: TrialWorld,
  to: Subscription,
  parcel: Parcel,
  destination: string,
): Letter => {
  const failure = sampleFailure({ category: 'permanent', kind: 'business' })
  const at = world.now()
  const failed = { ...parcel, trail: extendTrail(parcel.trail, failure, at) }
  return writeLetter(failed, { ...to, transport: 'trial' }, destination, {
    reason: 'permanent',
    failure,
    at,
    limit: 5,
    fingerprint: 'f00d',
  })
}

/** Buries a delivery at one of its subscription's destinations: the first is for dead letters. */
export const burial = (
  world: TrialWorld,
  to: Subscription,
  delivery: Settlement['delivery'],
  which = 0,
): Extract<Settlement, { do: 'bury' }> => {
  const destination = to.destinations[which]!.name
  return { do: 'bury', delivery, to: destination, letter: letterFor(world, to, delivery.parcel, destination) }
}

export const keyOf = (service: string, parcel: Parcel): LedgerKey => ({
  service,
  id: parcel.event.id,
  hash: hashOf(parcel.event.data),
  attempt: parcel.trail.spent + 1,
  generation: parcel.trail.generation,
  ttl: 3_600_000,
})

const hashOf = (data: Uint8Array | null): string =>
  createHash('sha256')
    .update(data ?? '')
    .digest('hex')

/**
 * What is promised of an event: every attribute and header as text, every byte of data. Header transports
 * carry text, so a number or a boolean among the extension attributes may arrive as its text.
 */
export const sameEvent = (actual: Event, expected: Event): void =>
  assert.deepEqual(comparable(actual), comparable(expected))

export const comparable = (event: Event) => ({
  ...event,
  extensions: Object.fromEntries(
    Object.entries(event.extensions).map(([name, value]) => [name, String(value)]),
  ),
  headers: { ...event.headers },
  data:
    event.data &&
    (event.data.byteLength > 2000 ? hashOf(event.data) : Buffer.from(event.data).toString('hex')),
})

export const sameLetter = (actual: Letter | undefined, expected: Letter): void => {
  assert.ok(actual, 'what came carries no letter')
  assert.deepEqual(
    { ...actual, event: comparable(actual.event) },
    { ...expected, event: comparable(expected.event) },
  )
}
