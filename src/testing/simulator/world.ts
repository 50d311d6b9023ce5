import { appendTo, auditOf } from '../../adapters/memory/audit.ts'
import { boardOf } from '../../adapters/memory/board.ts'
import { ledgerOf, openRows } from '../../adapters/memory/ledger.ts'
import { lettersOf } from '../../adapters/memory/letters.ts'
import { operationsOf } from '../../adapters/memory/operations.ts'
import { openTransport } from '../../adapters/memory/transport.ts'
import { type Door, sendTo, type World, worldOf } from '../../adapters/memory/world.ts'
import type { KeptLetter } from '../../contracts/letters.ts'
import type { AppStore } from '../../contracts/store.ts'
import type { Transport } from '../../contracts/transport.ts'
import type { Outgoing, Tx } from '../../contracts/tx.ts'
import type { Act } from '../../core/audit.ts'
import type { Event } from '../../core/event.ts'
import { type Letter, letterEvent, receiptEvent } from '../../core/letter.ts'
import { readLetter } from '../../core/letter-reading.ts'
import { isUnderWay } from '../../core/operation.ts'
import { freshParcel } from '../../core/parcel.ts'
import { loadedDice } from '../dice.ts'
import type { Account } from './account.ts'
import { asBroker } from './broker.ts'
import type { Chance } from './chance.ts'
import { createDatabase } from './database.ts'
import { letterName } from './fate.ts'
import { gateBoard, gateLedger, gateLetters, gateOperations, gateTransport } from './gated.ts'
import type { Life } from './life.ts'
import type { Plant } from './plant.ts'
import { heardBy, type Scenario } from './scenario.ts'
import type { Scheduler } from './scheduler.ts'
import { storeTx, withEffects } from './store-tx.ts'
import { userTx } from './user-tx.ts'
import { watchLedger, watchTransport } from './watch.ts'
import type { Weather } from './weather.ts'

/** What outlives every process: the broker and the database. */
export interface Beyond {
  /** A process connects: each call through its gate, with the model behind it. */
  connect(life: Life): { readonly transport: Transport; readonly store: AppStore; readonly tx?: Tx }
  /** The broker takes back what this process holds; nothing where there are only leases. */
  cut(life: Life): void
  /** Names of the letters that lie at destinations, or are kept by the office. */
  letters(): ReadonlySet<string>
  /** What the office knows of those it took over. */
  kept(): readonly KeptLetter[]
  /** Whether an operation is under way that still has letters to send: somebody will take it up. */
  operating(): boolean
}

export interface BeyondOptions {
  readonly scenario: Scenario
  readonly scheduler: Scheduler
  readonly account: Account
  readonly chance: Chance
  readonly weather: () => Weather | undefined
  readonly plant: Plant
}

export const createBeyond = (options: BeyondOptions): Beyond => {
  const { scenario, scheduler, account, plant } = options
  const { now } = scheduler
  let puts = 0
  let removes = 0
  const newWorld = (): World => ({
    ...worldOf(''),
    doors: countedDoors({ put: () => void puts++, remove: () => void removes++ }, plant),
    rows: plant.rows?.(openRows()) ?? openRows(),
  })
  const own = newWorld()
  const store = scenario.kind === 'own' ? own : newWorld()
  const tools = { clock: scheduler.clockOf(), dice: loadedDice(1, now), journal: () => {} }
  const cuts = new Map<Life, (() => void)[]>()

  const database = createDatabase(account, now, plant.apart)
  const opened = (world: World): Transport => {
    const plain = openTransport(world, tools)
    const transport = plant.under?.(plain) ?? plain
    if (scenario.tx !== 'store') return transport
    const deliver = ({ topic, event }: Required<Outgoing>): void => {
      void transport.publish(topic, [event])
      for (const service of heardBy(event.type))
        account.placed(service, freshParcel(event, now()), 'published with its effect')
    }
    return withEffects(transport, { database, removes: () => removes, deliver })
  }

  const transportFor = (life: Life): Transport => {
    const watched = watchTransport(opened(own), { account, life, now, heardBy, puts: () => puts })
    if (scenario.kind === 'own') return watched
    return asBroker(watched, {
      life,
      kind: scenario.kind,
      later: scenario.later,
      ordered: scenario.ordered,
      ackFirst: plant.ackFirst,
      bury: (letter: Letter, to) => {
        sendTo(own, to, letterEvent(letter), now())
        account.buried(life, letter)
      },
      send: (receipt) => sendTo(own, receipt.to, receiptEvent(receipt), now()),
      onCut: (giveBack) => void cuts.set(life, [...(cuts.get(life) ?? []), giveBack]),
    })
  }

  return {
    connect: (life) => {
      const { chance, weather } = options
      const gate = { life, chance, weather, heardBy, excuse: account.excuse, doubled: account.doubled }
      const gated = gateTransport(transportFor(life), gate)
      const transport = plant.transport?.(gated, life) ?? gated
      const companion =
        scenario.kind === 'own'
          ? transport
          : gateTransport(
              watchTransport(opened(store), { account, life, now, heardBy, puts: () => puts }),
              gate,
            )
      const append = (act: Act) => appendTo(store.audit, act)
      const board = gateBoard(boardOf(store, now), life)
      const ledger = gateLedger(watchLedger(ledgerOf(store.rows, now), account, life), life)
      const means = { database, life, now, heardBy, plant }
      const theirs = scenario.tx === 'theirs' ? userTx(means) : undefined
      return {
        transport,
        ...(theirs && { tx: plant.tx?.(theirs, transport) ?? theirs }),
        store: {
          ...(scenario.tx === 'store' && { tx: storeTx(means, store.rows) }),
          name: 'memory',
          ledger: plant.ledger?.(ledger, life) ?? ledger,
          board,
          letters: gateLetters(
            lettersOf(store.letters, store.groups, store.deaths, append, store.operations),
            life,
          ),
          operations: gateOperations(
            operationsOf(store.operations, store.letters, store.groups, append),
            life,
          ),
          audit: auditOf(store.audit, board),
          companion,
          close: async () => undefined,
        },
      }
    },
    cut: (life) => {
      for (const giveBack of cuts.get(life) ?? []) giveBack()
    },
    letters: () => {
      const lying = [own, store].flatMap(({ destinations }) =>
        [...destinations.values()].flatMap((box) => box.waitingNow(now())),
      )
      return new Set([
        ...lying.flatMap(({ parcel }) => letterNameIn(parcel.event)),
        ...[...store.letters.values()].map(({ letter }) => letterName(letter)),
      ])
    },
    kept: () => [...store.letters.values()],
    operating: () =>
      [...store.operations.rows.values()].some(
        ({ operation, items }) =>
          isUnderWay(operation.state) &&
          [...items.values()].some(({ state }) => state === 'waiting' || state === 'sending'),
      ),
  }
}

const letterNameIn = (event: Event): readonly string[] => {
  const letter = readLetter(event)
  return letter ? [letterName(letter)] : []
}

/** Doors that tell of each parcel that is put behind them, or settled for good. */
const countedDoors = (
  count: { readonly put: () => void; readonly remove: () => void },
  plant: Plant,
): Map<string, Door> => {
  const doors = new Map<string, Door>()
  const set = doors.set.bind(doors)
  doors.set = (name, door) => {
    if (doors.get(name) === door) return doors
    plant.box?.(door.box)
    const { put, remove } = door.box
    door.box.put = (parcel, now) => {
      count.put()
      put(parcel, now)
    }
    door.box.remove = (item, now) => {
      count.remove()
      remove(item, now)
    }
    return set(name, door)
  }
  return doors
}
