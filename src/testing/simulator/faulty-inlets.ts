import type { Delivery, Inlet, Settlement, Subscription, Transport } from '../../contracts/transport.ts'
import type { Life } from './life.ts'

/** Transports whose inlets have a bug, put in on purpose. */

export const withInlet = (
  transport: Transport,
  change: (inlet: Inlet, to: Subscription) => Inlet,
): Transport => ({
  ...transport,
  subscribe: async (to) => change(await transport.subscribe(to), to),
})

/** Settles something else than was asked. */
export const settling =
  (change: (settlement: Settlement) => Settlement) =>
  (transport: Transport): Transport =>
    withInlet(transport, (inlet) => ({ ...inlet, settle: (batch) => inlet.settle(batch.map(change)) }))

/** The waits are kept in the process: whoever dies takes them along. */
export const retryInMemory = (transport: Transport, { clock }: Life): Transport =>
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
export const retryInSlot = (transport: Transport, { clock }: Life): Transport =>
  withInlet(transport, (inlet) => ({
    ...inlet,
    settle: async (batch) => {
      const due = Math.max(...batch.map((each) => (each.do === 'later' ? each.parcel.due : 0)))
      if (due > clock.now()) await clock.sleep(due - clock.now())
      return inlet.settle(batch)
    },
  }))

export const neverExtended = (transport: Transport): Transport =>
  withInlet(transport, (inlet) => ({ ...inlet, extend: async () => undefined }))

export const lostIsDone = (transport: Transport): Transport =>
  withInlet(transport, (inlet) => ({
    ...inlet,
    settle: async (batch) =>
      (await inlet.settle(batch)).map((answer) => (answer === 'lost' ? 'done' : answer)),
  }))

export const redeliveredUnsaid = (transport: Transport): Transport =>
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
