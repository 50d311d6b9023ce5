import { Permanent, Transient } from '../../core/errors.ts'
import { type Context, dead, type Handled, later, type Reply } from '../../runtime/handler.ts'
import type { Account } from './account.ts'
import type { Chance } from './chance.ts'
import type { Run } from './fate.ts'
import type { Life } from './life.ts'
import type { Downstream } from './mail.ts'
import { type Does, KILLS, TIMEOUT } from './scenario.ts'

export interface Stage {
  readonly account: Account
  readonly life: Life
  readonly chance: Chance
  readonly mail: Downstream
}

/** A handler that does what its event says, with the model looking on. */
export const handlerOf = (service: string, stage: Stage) => {
  const { account, life } = stage
  return (event: Handled<{ readonly does: Does }>, ctx: Context): Reply | Promise<Reply> => {
    const run = account.began(life, service, event, ctx.trail)
    if (event.data.does === 'at once') {
      account.effect(run, ctx.idempotencyKey)
      account.ended(run, 'done', false)
      return undefined
    }
    return act(mended(event.data.does, run, ctx), run, ctx, stage).then(
      (reply) => {
        account.ended(run, reply ? 'answered' : 'done', ctx.signal.aborted)
        return reply
      },
      (error) => {
        account.ended(run, isRefusal(error) ? 'answered' : 'failed', ctx.signal.aborted)
        throw error
      },
    )
  }
}

/** Half of what died goes well when it is replayed, and nothing kills twice: somebody has mended it. */
const mended = (does: Does, { fate }: Run, { trail }: Context): Does =>
  trail.generation > 0 && (does === 'kills' || Number(fate.id.slice(1)) % 2 === 0) ? 'ok' : does

const act = async (
  does: Does,
  run: Run,
  ctx: Context,
  { account, life, chance, mail }: Stage,
): Promise<Reply> => {
  const { clock } = life
  const { fate } = run
  const effect = () => life.gate('effect', [fate], () => account.effect(run, ctx.idempotencyKey))
  await clock.sleep(chance.int(0, 30))
  const first = ctx.attempt === 1
  switch (does) {
    case 'flaky':
      if (ctx.attempt <= 1 + (Number(fate.id.slice(1)) % 2)) throw new Transient('not yet')
      return effect()
    case 'permanent':
      throw new Permanent('never')
    case 'unknown':
      throw new TypeError('nobody knows why')
    case 'hangs':
      if (!first) return effect()
      await clock.sleep(10 * TIMEOUT, ctx.signal)
      throw ctx.signal.reason
    case 'deaf':
      if (first) await clock.sleep(2 * TIMEOUT)
      return effect()
    case 'slow':
      await clock.sleep(TIMEOUT - 50)
      return effect()
    case 'put off':
      if (fate.keys.size === 0 && chance.happens(0.7)) return later(chance.int(10, 1500))
      return effect()
    case 'refused':
      return dead('not wanted')
    case 'kills':
      account.kills(run)
      life.crash(`of ${fate.id}`)
      await clock.sleep(1)
      return undefined
    case 'stuns':
      if (fate.stuns++ <= KILLS) await life.stand()
      return effect()
    case 'calls':
      await ctx.call('mail', () => mail.send(life, ctx.attempt > 1))
      return effect()
    default:
      return effect()
  }
}

/** A call that a breaker refused is no failure of the handler. */
const isRefusal = (error: unknown): boolean =>
  (error as { code?: string } | undefined)?.code === 'CALL_REFUSED'
