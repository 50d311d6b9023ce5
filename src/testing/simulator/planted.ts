import { type LedgerKey, REPAIRED } from '../../core/ledger.ts'
import { derivedId } from '../../core/letter.ts'
import {
  lostIsDone,
  neverExtended,
  redeliveredUnsaid,
  retryInMemory,
  retryInSlot,
  settling,
  withInlet,
} from './faulty-inlets.ts'
import type { Plant } from './plant.ts'
import { BATCH_BUGS } from './planted-batches.ts'
import { EXPIRY_BUGS } from './planted-expiry.ts'
import { HOLD_BUGS } from './planted-hold.ts'
import { TX_BUGS } from './planted-tx.ts'

const nameOf = ({ service, id }: LedgerKey): string => `${service}/${id}`

/** Bugs put in on purpose. Each must be found, or the simulator is worth nothing. */
export const PLANTED: readonly Plant[] = [
  {
    name: 'ack before bury',
    what: 'the original is acknowledged before its letter is written',
    breaks: ['I2'],
    ackFirst: 'bury',
  },
  {
    name: 'ack before later',
    what: 'the original is acknowledged before its retry is written',
    breaks: ['I2'],
    ackFirst: 'later',
  },
  {
    name: 'done before processing',
    what: 'an event is marked done when it is claimed',
    breaks: ['I2'],
    rows: (rows) => ({
      ...rows,
      claim: (key, now, until) => {
        const claim = rows.claim(key, now, until)
        if (claim.is === 'fresh') rows.finish({ held: claim.held, as: 'done' }, now)
        return claim
      },
      finish: () => true,
    }),
  },
  {
    name: 'claim never released',
    what: 'a claim does not end with its delivery',
    breaks: ['I3', 'I4'],
    ledger: (ledger) => ({ ...ledger, finish: async (ends) => ends.map(() => true) }),
  },
  {
    name: 'token not checked',
    what: 'whoever ends a claim ends it, though another holds it by now',
    breaks: ['I4'],
    rows: (rows) => {
      const current = new Map<string, number>()
      return {
        ...rows,
        claim: (key, now, until) => {
          const claim = rows.claim(key, now, until)
          if (claim.is === 'fresh') current.set(nameOf(key), claim.held.token)
          return claim
        },
        finish: ({ held, as }, now) =>
          rows.finish({ held: { ...held, token: current.get(nameOf(held.key)) ?? held.token }, as }, now),
      }
    },
  },
  {
    name: 'ack on busy',
    what: 'an event that another process holds is acknowledged',
    breaks: ['I2'],
    transport: settling((settlement) =>
      settlement.delivery.claim?.is === 'busy' ? { do: 'ack', delivery: settlement.delivery } : settlement,
    ),
  },
  {
    name: 'attempt not counted',
    what: 'a retry goes out with the trail it came with',
    breaks: ['I5'],
    transport: settling((settlement) =>
      settlement.do === 'later'
        ? { ...settlement, parcel: { ...settlement.parcel, trail: settlement.delivery.parcel.trail } }
        : settlement,
    ),
  },
  {
    name: 'retry in memory',
    what: 'a retry waits in the process, and the original is acknowledged',
    breaks: ['I2'],
    transport: retryInMemory,
  },
  {
    name: 'retry in its slot',
    what: 'a retry holds what others need while it waits',
    breaks: ['I7'],
    transport: retryInSlot,
  },
  {
    name: 'death not remembered',
    what: 'the claim of a buried event is left as it was',
    breaks: ['I3'],
    rows: (rows) => ({ ...rows, finish: (end, now) => end.as === 'dead' || rows.finish(end, now) }),
  },
  {
    name: 'lost taken for done',
    what: 'a settlement that changed nothing is told as done',
    breaks: ['I2', 'journal'],
    transport: lostIsDone,
  },
  {
    name: 'lease never extended',
    what: 'what waits or runs for long is not kept',
    breaks: ['I3', 'I4'],
    transport: neverExtended,
  },
  {
    name: 'order not asked for',
    what: 'a subscription with order by key is opened without',
    breaks: ['I6'],
    transport: (transport) => ({
      ...transport,
      subscribe: (to) => transport.subscribe({ ...to, order: 'none' }),
    }),
  },
  {
    name: 'ledger forgets',
    what: 'what is done is forgotten at once',
    breaks: ['I3'],
    rows: (rows) => ({
      ...rows,
      finish: ({ held, as }, now) =>
        rows.finish({ held: { ...held, key: { ...held.key, ttl: 0 } }, as }, now),
    }),
  },
  {
    name: 'ledger down is fresh',
    what: 'while the ledger does not answer everything is taken for new',
    breaks: ['I3'],
    ledger: (ledger) => ({
      ...ledger,
      claim: (keys, until) =>
        ledger
          .claim(keys, until)
          .catch(() => keys.map((key) => ({ is: 'fresh', held: { key, token: 0 }, crashes: 0 }) as const)),
    }),
  },
  {
    name: 'breaker ignored',
    what: 'a failing dependency is called as if nothing was',
    breaks: ['I8'],
    book: (yaml) => yaml.replace(/touchy: \{ failures: \d+/, 'touchy: { failures: 1000000'),
  },
  {
    name: 'budget ignored',
    what: 'retries are sent to a dependency whatever it bears',
    breaks: ['I8'],
    book: (yaml) => yaml.replace(/burst: \d+/, 'burst: 1000000'),
  },
  {
    name: 'crashes not counted',
    what: 'a claim that was never released looks like any other',
    breaks: ['I5'],
    rows: (rows) => ({
      ...rows,
      claim: (...asked) => {
        const claim = rows.claim(...asked)
        return claim.is === 'fresh' ? { ...claim, crashes: 0 } : claim
      },
    }),
  },
  {
    name: 'suspect not marked',
    what: 'a suspect is run without a mark that it was begun',
    breaks: ['I5'],
    rows: (rows) => ({ ...rows, begin: () => true }),
  },
  {
    name: 'stall taken for death',
    what: 'a process that stood still, and lives, is counted as one that died of what it had',
    breaks: ['I7'],
    ledger: (ledger) => ({ ...ledger, acquit: async (held) => held.map(() => false) }),
  },
  {
    name: 'redelivered unsaid',
    what: 'what was handed over before comes as if it were new',
    breaks: ['contract'],
    under: redeliveredUnsaid,
  },
  {
    name: 'fan-out to one',
    what: 'an event that two services want is given to the first only',
    breaks: ['I1'],
    under: (transport) => ({
      ...transport,
      subscribe: (to) => transport.subscribe(to.service === 'beta' ? { ...to, types: ['nothing'] } : to),
    }),
  },
  {
    name: 'published in memory',
    what: 'publish answers before the event is durable',
    breaks: ['I1'],
    transport: (transport, { clock }) => ({
      ...transport,
      publish: async (topic, events) => {
        // nobody is told: that is the bug
        void clock.sleep(50).then(() => transport.publish(topic, events).catch(() => undefined))
      },
    }),
  },
  {
    name: 'receipt forgotten',
    what: 'the office is not told how a replay ended',
    breaks: ['I1'],
    transport: settling((settlement) =>
      settlement.do === 'ack' ? { do: 'ack', delivery: settlement.delivery } : settlement,
    ),
  },
  {
    name: 'too early',
    what: 'a parcel is handed over before it is due',
    breaks: ['contract'],
    under: (transport) =>
      withInlet(transport, (inlet) => ({
        ...inlet,
        settle: (batch) =>
          inlet.settle(
            batch.map((each) =>
              each.do === 'later' ? { ...each, parcel: { ...each.parcel, due: 0 } } : each,
            ),
          ),
      })),
  },
  {
    name: 'dropped when full',
    what: 'deliveries for which there is no room are acknowledged unseen',
    breaks: ['I2'],
    transport: (transport) =>
      withInlet(transport, (inlet) => ({
        ...inlet,
        receive: async (max, signal, except) => {
          const batch = await inlet.receive(max, signal, except)
          if (batch.length > 2) await inlet.settle([{ do: 'ack', delivery: batch.at(-1)! }])
          return batch.slice(0, 2)
        },
      })),
  },
  {
    name: 'one letter for one id',
    what: 'letters of events with the same id have the same id, whatever the events carry',
    breaks: ['I1'],
    transport: settling((settlement) => {
      if (settlement.do !== 'bury') return settlement
      const { service, topic, event, trail } = settlement.letter
      const id = derivedId([service, topic, event.id, trail.generation])
      return { ...settlement, letter: { ...settlement.letter, id } }
    }),
  },
  {
    name: 'conflict taken for done',
    what: 'the second of two events with one id is acknowledged as done',
    breaks: ['I2'],
    rows: (rows) => ({
      ...rows,
      claim: (...asked) => {
        const claim = rows.claim(...asked)
        return claim.is === 'conflict' ? { is: 'done' } : claim
      },
    }),
  },
  {
    name: 'payload not compared',
    what: 'of two events with one id the second is taken for the first',
    breaks: ['I2', 'I3'],
    rows: (rows) => ({
      ...rows,
      claim: (key, ...asked) => rows.claim({ ...key, hash: REPAIRED }, ...asked),
    }),
  },
  ...BATCH_BUGS,
  ...TX_BUGS,
  ...EXPIRY_BUGS,
  ...HOLD_BUGS,
]
