import type {
  Can,
  Delivery,
  Inlet,
  Settled,
  Settlement,
  Subscription,
  Transport,
} from '../../contracts/transport.ts'
import type { Letter, Receipt } from '../../core/letter.ts'
import type { Millis } from '../../core/time.ts'
import type { Life } from './life.ts'

export interface BrokerOptions {
  readonly life: Life
  /** leased: a delivery runs out by time. connected: it is ours while the connection lasts. */
  readonly kind: 'leased' | 'connected'
  readonly later: Millis
  /** It hands over what has an order key in order; keeping it so is the companion's business. */
  readonly ordered: boolean
  readonly bury: (letter: Letter, to: string) => void
  readonly send: (receipt: Receipt) => void
  /** Hears of what lets the broker take back all that is out. */
  readonly onCut: (giveBack: () => void) => void
  /** A fault of our own making: the old home is given up before the new one is there. */
  readonly ackFirst?: 'bury' | 'later' | undefined
}

/**
 * A transport as a broker would be: no claims, no ledger, and a new home is one step, the ack of the old one another.
 * Between them everything can go wrong.
 */
export const asBroker = (transport: Transport, options: BrokerOptions): Transport => {
  const leased = options.kind === 'leased'
  const can: Can = {
    ...transport.can,
    claims: false,
    order: options.ordered ? 'owner' : 'none',
    lease: leased,
    later: options.later,
  }
  const { release: _, behind: __, ...plain } = transport
  return {
    ...plain,
    name: 'broker',
    can,
    subscribe: async ({ ledgerKey: _, ...to }) => {
      const lease = leased ? to.lease : Number.POSITIVE_INFINITY
      return brokerInlet(await transport.subscribe({ ...to, lease }), transport, to, options)
    },
  }
}

const brokerInlet = (inlet: Inlet, transport: Transport, to: Subscription, options: BrokerOptions): Inlet => {
  const { life, kind } = options
  /** By the copy that was handed out: what the runtime writes on it is not for those below. */
  const originals = new Map<Delivery, Delivery>()
  const original = (delivery: Delivery): Delivery => originals.get(delivery) ?? delivery

  if (kind === 'connected') {
    options.onCut(() => {
      const out = [...originals.values()]
      originals.clear()
      void inlet.settle(out.map((delivery) => ({ do: 'give back', delivery })))
    })
  }

  const make = async (settlement: Settlement): Promise<void> => {
    if (settlement.do === 'later') await transport.forward(to, [settlement.parcel])
    if (settlement.do === 'bury') options.bury(settlement.letter, settlement.to)
    if (settlement.do === 'ack' && settlement.receipt) options.send(settlement.receipt)
  }
  const letGo = async (settlement: Settlement): Promise<Settled> => {
    const delivery = original(settlement.delivery)
    const [answer] = await inlet.settle([
      { do: settlement.do === 'give back' ? 'give back' : 'ack', delivery },
    ])
    originals.delete(settlement.delivery)
    return answer!
  }
  const settleOne = async (settlement: Settlement): Promise<Settled> => {
    const plain = settlement.do === 'give back' || (settlement.do === 'ack' && !settlement.receipt)
    if (plain) return letGo(settlement)
    const concern = { service: to.service, id: settlement.delivery.parcel.event.id }
    const between = () => life.gate('between new home and ack', [concern], () => undefined)
    try {
      if (settlement.do === options.ackFirst) {
        const answer = await letGo(settlement)
        await between()
        await make(settlement)
        return answer
      }
      await make(settlement)
      await between()
      return await letGo(settlement)
    } catch (error) {
      return error as Error
    }
  }

  return {
    ...inlet,
    receive: async (max, signal, except) =>
      (await inlet.receive(max, signal, except)).map((delivery) => {
        const copy = { ...delivery }
        originals.set(copy, delivery)
        return copy
      }),
    settle: (batch) => Promise.all(batch.map(settleOne)),
    extend: async (deliveries, until) => {
      if (kind === 'leased') await inlet.extend(deliveries.map(original), until)
    },
  }
}
