import { Permanent, Transient } from '../../core/errors.ts'
import type { Trail } from '../../core/trail.ts'
import { type Context, dead, type Handled, later, type Reply } from '../../runtime/handler.ts'
import type { Account } from './account.ts'
import { KILLS, TIMEOUT } from './book.ts'
import type { Chance } from './chance.ts'
import type { Run } from './fate.ts'
import type { Life } from './life.ts'
import type { Downstream } from './mail.ts'
import type { Does } from './plan.ts'

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
    return toldOf(act(mended(event.data.does, run, ctx.trail), run, ctx, stage), run, ctx, account)
  }
}

/** The model hears how it ended. */
export const toldOf = (
  running: Promise<Reply>,
  run: Run,
  { signal }: Context,
  account: Account,
): Promise<Reply> =>
  running.then(
    (reply) => {
      account.ended(run, reply ? 'answered' : 'done', signal.aborted)
      return reply
    },
    (error) => {
      account.ended(run, isNoFailure(error) ? 'answered' : 'failed', signal.aborted)
      throw error
    },
  )

/** Half of what died goes well when it is replayed, and nothing kills twice: somebody has mended it. */
export const mended = (does: Does, { fate }: Run, { generation }: Trail): Does =>
  generation > 0 && (does === 'kills' || numberOf(fate) % 2 === 0) ? 'ok' : does

/** What is flaky fails once or twice. */
export const fails = ({ fate }: Run, attempt: number): boolean => attempt <= 1 + (numberOf(fate) % 2)

const numberOf = ({ id }: Run['fate']): number => Number.parseInt(id.slice(1), 10)

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
      if (fails(run, ctx.attempt)) throw new Transient('not yet')
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

/** A call that a breaker refused is no failure of the handler, nor is a transaction that is known, or committed before. */
const isNoFailure = (error: unknown): boolean =>
  NO_FAILURES.has((error as { code?: string } | undefined)?.code ?? '')

export const AFTER_COMMIT = 'AFTER_COMMIT'
const NO_FAILURES = new Set(['CALL_REFUSED', 'already_done', 'conflict', AFTER_COMMIT])
