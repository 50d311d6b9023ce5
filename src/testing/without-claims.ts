import type { Delivery, Inlet, Transport } from '../contracts/transport.ts'

/** The transport as a broker would be: it hands over without claims, and knows nothing of a ledger. */
export const withoutClaims = (transport: Transport): Transport => ({
  ...transport,
  can: { ...transport.can, claims: false },
  subscribe: async ({ ledgerKey: _, ...to }) => inletWithoutClaims(await transport.subscribe(to)),
})

/** Deliveries are copied on their way: the claims that the runtime writes on them are not for those below. */
const inletWithoutClaims = (inlet: Inlet): Inlet => {
  const originals = new WeakMap<Delivery, Delivery>()
  const original = (delivery: Delivery): Delivery => originals.get(delivery) ?? delivery
  return {
    ...inlet,
    receive: async (max, signal, except) => {
      const batch = await inlet.receive(max, signal, except)
      return batch.map((delivery) => {
        const copy = { ...delivery }
        originals.set(copy, delivery)
        return copy
      })
    },
    settle: (batch) =>
      inlet.settle(batch.map((settlement) => ({ ...settlement, delivery: original(settlement.delivery) }))),
    extend: (deliveries, until) => inlet.extend(deliveries.map(original), until),
  }
}
