import type { Rows } from '../../adapters/memory/ledger.ts'
import type { Settlement, Transport } from '../../contracts/transport.ts'
import type { Effect, Outgoing, StoreTx } from '../../contracts/tx.ts'
import type { Database } from './database.ts'
import { withInlet } from './faulty-inlets.ts'
import { type DatabaseMeans, outboxOf } from './outbox.ts'

/** The store's own transactions: for what came by a broker, effect and claim are one commit. */
export const storeTx = (means: DatabaseMeans, rows: Rows): StoreTx => {
  const { database, life, now } = means
  const commit = (effect: Effect) =>
    database.settle(
      effect,
      () => !effect.held || rows.finish({ held: effect.held, as: 'done' }, now()),
      () => {
        throw new Error('beside a broker all that goes out goes by the outbox')
      },
    )
  return {
    name: 'database',
    commit: (effect) => life.gate('commit', [effect.key], () => commit(effect)),
    publish: () => {
      throw new Error('no simulated handler begins a transaction of its own')
    },
    outbox: outboxOf(means),
  }
}

export interface EffectOptions {
  readonly database: Database
  /** How many parcels were settled for good so far. */
  readonly removes: () => number
  readonly deliver: (outgoing: Required<Outgoing>) => void
}

/** A transport that is a database: an effect is in the commit that acknowledges its event. */
export const withEffects = (transport: Transport, options: EffectOptions): Transport =>
  withInlet(transport, (inlet) => {
    const settleOne = (settlement: Settlement) => {
      if (settlement.do !== 'ack' || !settlement.effect)
        return inlet.settle([settlement]).then(([answer]) => answer!)
      const { effect, ...plain } = settlement
      // it is settled before the call returns; the answer comes later, and others may come in between
      const letGo = (): boolean => {
        const before = options.removes()
        void inlet.settle([plain])
        return options.removes() > before
      }
      return options.database.settle(effect, letGo, options.deliver)
    }
    return {
      ...inlet,
      settle: (batch) =>
        batch.some((each) => 'effect' in each) ? Promise.all(batch.map(settleOne)) : inlet.settle(batch),
    }
  })
