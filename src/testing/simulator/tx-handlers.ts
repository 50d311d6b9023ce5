import { Permanent, Transient } from '../../core/errors.ts'
import { type Context, dead, type Handled, later, type Reply } from '../../runtime/handler.ts'
import { TIMEOUT } from './book.ts'
import type { Client } from './database.ts'
import type { Run } from './fate.ts'
import { AFTER_COMMIT, fails, mended, type Stage, toldOf } from './handlers.ts'
import { type Does, tellingOf } from './plan.ts'

/** A handler whose effect is a transaction, and an event that tells of it is a part of that. */
export const txHandlerOf = (service: string, stage: Stage, theirs: boolean) => {
  const { account, life } = stage
  return (event: Handled<{ readonly does: Does }>, ctx: Context): Promise<Reply> => {
    const run = account.began(life, service, event, ctx.trail)
    const booking = { event, run, ctx, stage, does: mended(event.data.does, run, ctx.trail) }
    return toldOf(book(booking, theirs), run, ctx, account)
  }
}

interface Booking {
  readonly event: Handled<unknown>
  readonly run: Run
  readonly ctx: Context
  readonly stage: Stage
  readonly does: Does
}

const book = async (booking: Booking, theirs: boolean): Promise<Reply> => {
  const { event, run, ctx, stage, does } = booking
  const { life, chance } = stage
  const { clock } = life
  const first = ctx.attempt === 1
  await clock.sleep(chance.int(0, 30))
  if (does === 'put off' && run.fate.effects === 0 && chance.happens(0.7)) return later(chance.int(10, 1500))
  if (does === 'refused') return dead('not wanted')
  // its transaction must not even begin then
  if (does === 'deaf' && first) await clock.sleep(2 * TIMEOUT)
  if (does === 'slow') await clock.sleep(TIMEOUT - 50)
  if (does === 'hangs' && first && !theirs) await clock.sleep(10 * TIMEOUT, ctx.signal)
  const error = errorOf(booking)
  const { id, data } = tellingOf(event)
  const tell = () => ctx.publish('sum.told', data, { id })
  if (theirs) {
    await ctx.tx(async (client: Client) => {
      await life.gate('effect', [run.fate], () => client.book(run))
      await tell()
      if (does === 'hangs' && first) await clock.sleep(10 * TIMEOUT)
      if (error) throw error
    })
  } else {
    await ctx.tx((client: Client) => {
      client.book(run)
      void tell()
      if (error) throw error
    })
  }
  // what a handler does after its transaction is not tried again
  if (does === 'at once') throw Object.assign(new Error('after its commit'), { code: AFTER_COMMIT })
  return undefined
}

/** It goes wrong inside, so that all of it must be undone. */
const errorOf = ({ run, ctx, does }: Booking): Error | undefined => {
  if (does === 'flaky' && fails(run, ctx.attempt)) return new Transient('not yet')
  if (does === 'permanent') return new Permanent('never')
  return does === 'unknown' ? new TypeError('nobody knows why') : undefined
}
