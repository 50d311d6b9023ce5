import type { Board } from '../../contracts/board.ts'
import type { Ledger } from '../../contracts/ledger.ts'
import type { Letters } from '../../contracts/letters.ts'
import type { Operations } from '../../contracts/operations.ts'
import type { Delivery, Inlet, Settled, Settlement, Transport } from '../../contracts/transport.ts'
import type { Parcel } from '../../core/parcel.ts'
import type { Chance } from './chance.ts'
import { type Concern, Injected, type Life } from './life.ts'
import type { Weather } from './weather.ts'

export interface GateOptions {
  readonly life: Life
  readonly chance: Chance
  readonly weather: () => Weather | undefined
  readonly excuse: (concern: Concern) => void
  readonly heardBy: (type: string) => readonly string[]
  readonly doubled: (concern: Concern) => void
}

/** As a process sees a transport: through its gate. */
export const gateTransport = (transport: Transport, options: GateOptions): Transport => {
  const { life, heardBy } = options
  return {
    ...transport,
    publish: (topic, events) => {
      const concerns = events.flatMap(({ id, type }) => heardBy(type).map((service) => ({ service, id })))
      return life.gate('publish', concerns, () => transport.publish(topic, events))
    },
    forward: (to, parcels) => {
      const concerns = parcels.map(({ event }) => ({ service: to.service, id: event.id }))
      return life.gate('forward', concerns, () => transport.forward(to, parcels))
    },
    ...(transport.release && {
      release: (to, keys) => life.gate('release', [], () => transport.release!(to, keys)),
    }),
    ...(transport.behind && {
      behind: (to, keys) => life.gate('count behind', [], () => transport.behind!(to, keys)),
    }),
    collect: async (destination) => {
      const inlet = await life.gate('collect', [], () => transport.collect(destination))
      return gateInlet(inlet, destination.name, { ...options, double: async () => undefined, leased: true })
    },
    subscribe: async (to) => {
      await life.step()
      const double = (parcel: Parcel) => {
        options.doubled({ service: to.service, id: parcel.event.id })
        return transport.forward(to, [parcel])
      }
      return gateInlet(await transport.subscribe(to), to.service, {
        ...options,
        double,
        leased: transport.can.lease,
      })
    },
  }
}

interface InletOptions extends GateOptions {
  readonly double: (parcel: Parcel) => Promise<void>
  readonly leased: boolean
}

const gateInlet = (
  inlet: Inlet,
  service: string,
  { life, chance, weather, excuse, double, leased }: InletOptions,
): Inlet => {
  const concern = ({ parcel }: Delivery): Concern => ({ service, id: parcel.event.id })
  const likely = (fault: 'fails' | 'answer lost' | 'double') => weather()?.likely.get(fault) ?? 0

  const receive: Inlet['receive'] = async (max, signal, except) => {
    const enough = new AbortController()
    const end = () => enough.abort('nobody waits any more')
    signal.addEventListener('abort', end, { once: true })
    life.gone.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    let batch: readonly Delivery[] = []
    try {
      return await life.gate('receive', [], async () => {
        batch = await inlet.receive(max, enough.signal, except)
        for (const { parcel } of batch) if (chance.happens(likely('double'))) await double(parcel)
        return batch
      })
    } catch (error) {
      // taken, and nobody knows: the lease, or the broken connection, brings them back
      for (const delivery of batch) excuse(concern(delivery))
      if (!leased) await inlet.settle(batch.map((delivery) => ({ do: 'give back', delivery })))
      throw error
    } finally {
      signal.removeEventListener('abort', end)
      life.gone.removeEventListener('abort', end)
    }
  }

  /** Beside faults that hit all of a batch, some that hit one of it. */
  const settle: Inlet['settle'] = async (batch) => {
    const fates = batch.map((settlement): 'fails' | 'answer lost' | undefined => {
      const fate = (['fails', 'answer lost'] as const).find((fault) => chance.happens(likely(fault)))
      if (fate) excuse(concern(settlement.delivery))
      return fate
    })
    const sent = batch.filter((_, i) => fates[i] !== 'fails')
    const answers = [...(await life.gate('settle', batch.map(concernOf), () => inlet.settle(sent)))]
    return fates.map((fate): Settled => {
      const answer = fate === 'fails' ? undefined : answers.shift()!
      return fate || answer === undefined ? new Injected('settle fails on purpose') : answer
    })
  }
  const concernOf = ({ delivery }: Settlement): Concern => concern(delivery)

  return {
    ...inlet,
    receive,
    settle,
    extend: (deliveries, until) =>
      life.gate('extend', deliveries.map(concern), () => inlet.extend(deliveries, until)),
    close: () => life.gate('close', [], () => inlet.close()),
  }
}

export const gateLedger = (ledger: Ledger, life: Life): Ledger => ({
  claim: (keys, until) => life.gate('claim', keys, () => ledger.claim(keys, until)),
  begin: (held) => life.gate('begin', [held.key], () => ledger.begin(held)),
  renew: (held, until) => life.gate('renew', held.map(keyOf), () => ledger.renew(held, until)),
  acquit: (held) => life.gate('acquit', held.map(keyOf), () => ledger.acquit(held)),
  finish: (ends) =>
    life.gate(
      'finish',
      ends.map(({ held }) => held.key),
      () => ledger.finish(ends),
    ),
})

const keyOf = ({ key }: { readonly key: Concern }): Concern => key

export const gateLetters = (letters: Letters, life: Life): Letters => ({
  keep: (...asked) => life.gate('keep letters', [], () => letters.keep(...asked)),
  find: (...asked) => life.gate('find letters', [], () => letters.find(...asked)),
  outlines: (...asked) => life.gate('find letters', [], () => letters.outlines(...asked)),
  sendables: (...asked) => life.gate('find letters', [], () => letters.sendables(...asked)),
  count: (...asked) => life.gate('count letters', [], () => letters.count(...asked)),
  countUpTo: (...asked) => life.gate('count letters', [], () => letters.countUpTo(...asked)),
  mark: (...asked) => life.gate('mark letters', [], () => letters.mark(...asked)),
  // looks change nothing, whoever is dead
  groups: {
    ...letters.groups,
    tend: (...asked) => life.gate('tend group', [], () => letters.groups.tend(...asked)),
    regroup: (...asked) => life.gate('regroup letters', [], () => letters.groups.regroup(...asked)),
  },
})

export const gateOperations = (operations: Operations, life: Life): Operations => ({
  begin: (...asked) => life.gate('begin operation', [], () => operations.begin(...asked)),
  add: (...asked) => life.gate('add items', [], () => operations.add(...asked)),
  read: (...asked) => life.gate('read operation', [], () => operations.read(...asked)),
  list: (...asked) => life.gate('list operations', [], () => operations.list(...asked)),
  change: (...asked) => life.gate('change operation', [], () => operations.change(...asked)),
  mark: (...asked) => life.gate('mark items', [], () => operations.mark(...asked)),
  items: (...asked) => life.gate('read items', [], () => operations.items(...asked)),
  take: (...asked) => life.gate('take operation', [], () => operations.take(...asked)),
})

export const gateBoard = (board: Board, life: Life): Board => ({
  post: (...entry) => life.gate('board post', [], () => board.post(...entry)),
  read: (prefix) => life.gate('board read', [], () => board.read(prefix)),
})
