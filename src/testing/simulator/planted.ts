import type { Delivery, Inlet, Settlement, Subscription, Transport } from '../../contracts/transport.ts'
import type { LedgerKey } from '../../core/ledger.ts'
import type { Life } from './life.ts'
import type { Plant } from './plant.ts'

const withInlet = (transport: Transport, change: (inlet: Inlet, to: Subscription) => Inlet): Transport => ({
  ...transport,
  subscribe: async (to) => change(await transport.subscribe(to), to),
})

/** Settles something else than was asked. */
const settling =
  (change: (settlement: Settlement) => Settlement) =>
  (transport: Transport): Transport =>
    withInlet(transport, (inlet) => ({ ...inlet, settle: (batch) => inlet.settle(batch.map(change)) }))

/** The waits are kept in the process: whoever dies takes them along. */
const retryInMemory = (transport: Transport, { clock }: Life): Transport =>
  withInlet(transport, (inlet, to) => ({
    ...inlet,
    settle: (batch) =>
      inlet.settle(
        batch.map((settlement) => {
          if (settlement.do !== 'later') return settlement
          const { delivery, parcel } = settlement
          void clock.sleep(parcel.due - clock.now()).then(() => transport.forward(to, [parcel]))
          return { do: 'ack', delivery }
        }),
      ),
  }))

/** The wait is waited in the slot, and the event then handed back: nobody else gets on meanwhile. */
const retryInSlot = (transport: Transport, { clock }: Life): Transport =>
  withInlet(transport, (inlet) => ({
    ...inlet,
    settle: async (batch) => {
      const due = Math.max(...batch.map((each) => (each.do === 'later' ? each.parcel.due : 0)))
      if (due > clock.now()) await clock.sleep(due - clock.now())
      return inlet.settle(batch)
    },
  }))

const neverExtended = (transport: Transport): Transport =>
  withInlet(transport, (inlet) => ({ ...inlet, extend: async () => undefined }))

const lostIsDone = (transport: Transport): Transport =>
  withInlet(transport, (inlet) => ({
    ...inlet,
    settle: async (batch) =>
      (await inlet.settle(batch)).map((answer) => (answer === 'lost' ? 'done' : answer)),
  }))

const redeliveredUnsaid = (transport: Transport): Transport =>
  withInlet(transport, (inlet) => {
    const originals = new Map<Delivery, Delivery>()
    const original = (delivery: Delivery) => originals.get(delivery) ?? delivery
    return {
      ...inlet,
      receive: async (...asked) =>
        (await inlet.receive(...asked)).map((delivery) => {
          const copy = { ...delivery, redelivered: false }
          originals.set(copy, delivery)
          return copy
        }),
      settle: (batch) => inlet.settle(batch.map((each) => ({ ...each, delivery: original(each.delivery) }))),
      extend: (deliveries, until) => inlet.extend(deliveries.map(original), until),
    }
  })

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
]
