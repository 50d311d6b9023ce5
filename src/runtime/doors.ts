import type { Ledger } from '../contracts/ledger.ts'
import type { Store } from '../contracts/store.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Delivery, Inlet, Subscription, Transport } from '../contracts/transport.ts'
import type { LedgerKey } from '../core/ledger.ts'
import { type Bag, createBag } from './bag.ts'
import { createGate, type Gate } from './gate.ts'
import type { Guards } from './guards.ts'
import type { KeptDoor } from './keeping.ts'
import { type Ledgers, settlerByStore, withOwnClaims } from './ledgers.ts'
import { createMover, type Mover } from './moving.ts'
import type { Plan } from './plan.ts'
import { createSettler, type Settler } from './settle.ts'
import type { Door } from './walk.ts'

/** A subscription on the transport, or on its companion, while its service is in motion. */
export interface OpenDoor extends Door, KeptDoor {
  readonly subscription: Subscription
  readonly inlet: Inlet
  /** Keeps the claims that its deliveries don't bring along; undefined: there are none. */
  readonly ledger: Ledger | undefined
  /** Which claim of that ledger a delivery needs. */
  readonly keyOf: (delivery: Delivery) => LedgerKey | undefined
  /** Deliveries that are out and unsettled. */
  readonly out: Bag<Delivery>
  gulps: number
  /** There while nothing more is pulled until some are settled. */
  wake: (() => void) | undefined
  readonly gate: () => Gate
  /** Ends a receive that waits. */
  pulling: AbortController
  readonly settler: Settler
  /** Of a broker with ordered events: they don't stay here. */
  readonly mover: Mover | undefined
}

export interface DoorsOptions {
  readonly plan: Plan
  readonly guards: Guards
  readonly transport: Transport
  readonly companion: Transport | undefined
  readonly ledgers: Ledgers
  readonly tools: Tools
  /** Where transactions are those of the app's own store. */
  readonly txStore: Store | undefined
  readonly stop: AbortSignal
  readonly abandon: AbortSignal
  /** One of its deliveries is settled. */
  readonly leave: (door: OpenDoor, goOut: () => void) => void
}

export const doorsOf =
  ({ plan, guards, transport, companion, ledgers, tools, txStore, stop, abandon, leave }: DoorsOptions) =>
  async (from: Transport, subscription: Subscription): Promise<OpenDoor> => {
    const { claims, later } = from.can
    const ledger = claims ? ledgers.named : ledgers.all
    const inlet = await from.subscribe(claims && ledger ? withOwnClaims(subscription) : subscription)
    const makeSettler = () =>
      createSettler({ address: subscription, inlet, ledger, companion, tools, stop, abandon })
    const settler = ledgers.named ? settlerByStore(makeSettler) : makeSettler()
    const moves = subscription.order === 'key' && from.can.order !== 'key'
    const door: OpenDoor = {
      subscription,
      transport: transport.name,
      later,
      companion: companion !== undefined,
      inlet,
      settles: claims && txStore?.companion === from,
      direct: from === transport,
      own: !claims || txStore?.companion === from,
      ledger,
      keyOf: ({ parcel, redelivered }) => {
        const key = subscription.ledgerKey?.(parcel, redelivered)
        return claims && key?.store === undefined ? undefined : key
      },
      settler,
      out: createBag(),
      gulps: 0,
      kept: tools.clock.now(),
      wake: undefined,
      pulling: new AbortController(),
      gate: createGate(subscription, plan, guards, from.can.except),
      mover:
        moves && companion
          ? createMover({
              ...{ subscription, plan, companion, settler, tools, stop },
              leave: ({ goOut }) => leave(door, goOut),
            })
          : undefined,
    }
    return door
  }
