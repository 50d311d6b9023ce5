import type { Delivery, Inlet, Subscription } from '../../src/contracts/transport.ts'
import type { Event } from '../../src/core/event.ts'
import type { LedgerKey } from '../../src/core/ledger.ts'
import type { Parcel } from '../../src/core/parcel.ts'

/** What tests of the SQLite transport publish, ask for and settle. */

export const subscription = (over: Partial<Subscription> = {}): Subscription => ({
  service: 'notification-svc',
  topic: 'todo.task.created',
  consumerGroup: 'notification-svc',
  types: ['*'],
  order: 'none',
  lease: 30_000,
  window: 500,
  destinations: [],
  ...over,
})

export const ledgerKey = ({ event, trail }: Parcel): LedgerKey => ({
  service: 'notification-svc',
  id: event.id,
  hash: 'h',
  attempt: trail.spent + 1,
  generation: trail.generation,
  ttl: 60_000,
})

export const event = (id: string, over: Partial<Event> = {}): Event => ({
  id,
  source: '/test',
  type: 'todo.task.created',
  extensions: {},
  headers: {},
  data: null,
  ...over,
})

export const events = (count: number): readonly Event[] =>
  Array.from({ length: count }, (_, n) => event(`e-${n}`))
export const ids = (deliveries: readonly Delivery[]): readonly string[] =>
  deliveries.map(({ parcel }) => parcel.event.id)
export const acks = (deliveries: readonly Delivery[]) =>
  deliveries.map((delivery) => ({ do: 'ack' as const, delivery }))

/** What is there now, without waiting. */
export const present = async (
  inlet: Inlet,
  max = 100,
  except?: ReadonlySet<string>,
): Promise<readonly Delivery[]> => {
  const stop = new AbortController()
  const receiving = inlet.receive(max, stop.signal, except)
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve))
  stop.abort()
  return receiving
}
