import type { Ledger } from '../../contracts/ledger.ts'
import type { Inlet, Settled, Settlement, Transport } from '../../contracts/transport.ts'
import { freshParcel } from '../../core/parcel.ts'
import type { Instant } from '../../core/time.ts'
import type { Account } from './account.ts'
import type { Life } from './life.ts'

export interface WatchOptions {
  readonly account: Account
  readonly life: Life
  readonly now: () => Instant
  /** How many parcels were put anywhere so far. */
  readonly puts: () => number
  /** Which services hear a type: the model's own knowledge, not the transport's. */
  readonly heardBy: (type: string) => readonly string[]
}

/** The world's own transport, with the model looking on: below all faults, so that it sees what really happened. */
export const watchTransport = (transport: Transport, options: WatchOptions): Transport => ({
  ...transport,
  publish: async (topic, events) => {
    await transport.publish(topic, events)
    for (const event of events)
      for (const service of options.heardBy(event.type))
        options.account.placed(service, freshParcel(event, options.now()), 'published')
  },
  forward: async (to, parcels) => {
    for (const parcel of parcels) {
      const before = options.puts()
      const forwarding = transport.forward(to, [parcel])
      // counted at once: others may put something while we wait. Where order is kept, what stands in line is not put twice
      const isPut = options.puts() > before
      await forwarding
      if (isPut) options.account.placed(to.service, parcel, 'again')
      else if (options.account.revived(to.service, parcel))
        options.account.placed(to.service, parcel, 'in its old place')
    }
  },
  ...(transport.release && {
    release: async (to, keys) => {
      const releasing = transport.release!(to, keys)
      for (const { letter } of keys) options.account.released(to.service, letter)
      await releasing
    },
  }),
  subscribe: async (to) => watchInlet(await transport.subscribe(to), to.service, options),
})

const watchInlet = (inlet: Inlet, service: string, { account, life }: WatchOptions): Inlet => {
  const note = (settlement: Settlement, answer: Settled): void => {
    const { delivery } = settlement
    if (answer === 'lost') return void account.lost(life, service, delivery)
    if (answer !== 'done') return
    if (settlement.do === 'later') return void account.later(life, service, delivery, settlement.parcel)
    if (settlement.do === 'give back') return void account.givenBack(life, service, delivery)
    if (settlement.do === 'bury') account.buried(life, settlement.letter)
    account.removed(life, service, delivery)
  }
  return {
    ...inlet,
    receive: async (max, signal, except) => {
      const batch = await inlet.receive(max, signal, except)
      for (const delivery of batch) account.handedOver(life, service, delivery)
      return batch
    },
    settle: async (batch) => {
      const answers = await inlet.settle(batch)
      for (const [i, answer] of answers.entries()) note(batch[i]!, answer)
      return answers
    },
  }
}

export const watchLedger = (ledger: Ledger, account: Account, life: Life): Ledger => ({
  claim: async (keys, until) => {
    const claims = await ledger.claim(keys, until)
    for (const [i, claim] of claims.entries()) account.claimed(life, keys[i]!, claim)
    return claims
  },
  begin: ledger.begin,
  renew: ledger.renew,
  acquit: ledger.acquit,
  finish: async (ends) => {
    const answers = await ledger.finish(ends)
    for (const [i, { held, as }] of ends.entries()) account.finished(life, held, as, answers[i]!)
    return answers
  },
})
