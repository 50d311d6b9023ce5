import type { KeptOperation, Operations } from '../contracts/operations.ts'
import type { Tools } from '../contracts/tools.ts'
import type { ActName } from '../core/acts.ts'
import type { Act, Details } from '../core/audit.ts'
import {
  isLive,
  isUnderWay,
  lettersIn,
  mayFollow,
  nextStep,
  type Operation,
  paceFrom,
} from '../core/operation.ts'
import type { Instant, Millis } from '../core/time.ts'
import { hashOfSet } from './freezing.ts'
import type { createSending } from './sending.ts'

/** Who works on an operation says so again and again; who doesn't for so long has died. */
export const OPERATION_LEASE: Millis = 15_000
/** How often to look for operations that others began, and at those that wait for something. */
const LOOK: Millis = 1000
const LONGEST_PAUSE: Millis = 30_000
const MOST_LIVE = 1000

export interface Working {
  /** Does all that can be done now. Where another process is at it, or nothing is to be done, nothing happens. */
  drive(id: string, options?: { readonly signal?: AbortSignal; readonly strict?: boolean }): Promise<void>
  /** Nobody but the caller drives it in this process, until he says so. */
  own(id: string): () => void
  /** Works on all that live until the signal aborts. */
  run(stop: AbortSignal): Promise<void>
  /** Something may be to be done: it is looked at once. */
  ring(): void
  /** Ends what nobody began in time, or whose freezing was cut short. */
  tidy(): Promise<void>
}

/** After trouble, how long it is left alone. */
interface Pause {
  readonly until: Instant
  readonly last: Millis
}

export interface WorkingOptions {
  readonly operations: Operations
  readonly tools: Tools
  readonly sending: ReturnType<typeof createSending>
  /** Of this process, for the others. */
  readonly name: string
  /** What must be there before anything is sent. */
  readonly prepare: () => Promise<void>
}

export const createWorking = ({ operations, tools, sending, name, prepare }: WorkingOptions): Working => {
  const { clock, journal } = tools
  /** Those that this process is at. */
  const busy = new Map<string, Promise<void>>()
  /** Those that somebody in this process sees to himself. */
  const owned = new Set<string>()
  let ready: Promise<void> | undefined
  let bell = new AbortController()

  const prepared = async (): Promise<void> => {
    ready ??= prepare().catch((error) => {
      ready = undefined
      throw error
    })
    return ready
  }

  const take = (id: string, lasts: Millis): Promise<KeptOperation | undefined> => {
    const now = clock.now()
    return operations.take(id, name, now, now + lasts)
  }

  const become = async (
    kept: KeptOperation,
    state: Operation['state'],
    because?: string,
  ): Promise<unknown> => {
    const { operation, version, counts } = kept
    if (!mayFollow(operation.state, state)) return undefined
    const now = clock.now()
    // until when it had to be begun is over with that
    const { until: _, ...rest } = operation
    const next: Operation = {
      ...{ ...rest, state, since: now },
      ...(state === 'ramp' && { pace: paceFrom(counts, now) }),
      ...(because !== undefined && { because }),
    }
    const ended = state === 'stopped' || state === 'cancelled'
    if (ended) journal({ at: now, is: 'notice', text: `operation ${operation.id} ${state}: ${because}` })
    const act = ended
      ? actBy(kept, state === 'stopped' ? 'operation stop' : 'operation cancel', now, because)
      : undefined
    return operations.change(next, version, act)
  }

  const work = async (id: string, signal: AbortSignal | undefined, strict: boolean): Promise<void> => {
    let kept = await take(id, OPERATION_LEASE)
    if (!kept) return
    let renewAt = clock.now() + OPERATION_LEASE / 2
    try {
      if (!canGoOn(kept)) return
      await prepared()
      if (kept.counts.sending > 0 && !(await sending.again(kept, strict))) return
      for (;;) {
        if (clock.now() >= renewAt) {
          if (!(await take(id, OPERATION_LEASE))) return
          renewAt = clock.now() + OPERATION_LEASE / 2
        }
        kept = await operations.read(id)
        if (!kept || kept.holder?.name !== name || signal?.aborted || !(await step(kept, signal, strict)))
          return
      }
    } finally {
      // whoever comes next need not wait; where it can't be said the lease ends by itself
      await take(id, 0).catch(() => undefined)
    }
  }

  /** false: there is nothing more to be done now. */
  const step = async (
    kept: KeptOperation,
    signal: AbortSignal | undefined,
    strict: boolean,
  ): Promise<boolean> => {
    const { operation, counts } = kept
    const next = nextStep(operation, counts, clock.now())
    switch (next.do) {
      case 'wait':
        return false
      case 'become':
        if (operation.state === 'approved' && !(await isAsApproved(operation))) {
          await become(kept, 'cancelled', 'its set is not the one that was approved')
        } else await become(kept, next.state, next.because)
        return true
      case 'pause': {
        const { by, id } = operation
        const at = clock.now()
        const act = actBy(kept, 'operation pause', at, next.because)
        journal({ at, is: 'notice', text: `operation ${id} paused: ${next.because}` })
        await operations.change(
          { ...operation, paused: { by, at, because: next.because } },
          kept.version,
          act,
        )
        return true
      }
      case 'send': {
        const began = clock.now()
        const streams = operation.state === 'ramp' && operation.plan.rate === undefined
        if (operation.kind === 'purge') await sending.purge(kept, next.most)
        else if (streams) await sending.stream(kept, began + OPERATION_LEASE / 3, strict, signal)
        else await sending.replay(kept, next.most, strict)
        await keepRate(operation, next.most, began, signal)
        return true
      }
    }
  }

  const isAsApproved = async ({ id, hash, approval }: Operation): Promise<boolean> =>
    approval !== undefined && approval.hash === hash && (await hashOfSet(operations, id)) === hash

  /** In short naps, so that it stays ours. */
  const keepRate = async (
    { id, plan: { rate } }: Operation,
    count: number,
    began: Instant,
    signal: AbortSignal | undefined,
  ): Promise<void> => {
    if (rate === undefined) return
    const until = began + (count * 1000) / rate
    for (let left = until - clock.now(); left > 0 && !signal?.aborted; left = until - clock.now()) {
      await clock.sleep(Math.min(left, OPERATION_LEASE / 3), signal)
      if (left > OPERATION_LEASE / 3 && !(await take(id, OPERATION_LEASE))) return
    }
  }

  const drive: Working['drive'] = (id, { signal, strict = false } = {}) => {
    const known = busy.get(id)
    if (known) return known
    const working = work(id, signal, strict).finally(() => busy.delete(id))
    busy.set(id, working)
    return working
  }

  /** Ends one that is over, or that nobody began in time. */
  const tidyOne = async (kept: KeptOperation): Promise<boolean> => {
    const { operation, holder, counts } = kept
    const { state, until, at } = operation
    const now = clock.now()
    if (state === 'freezing' && (holder?.until ?? at + OPERATION_LEASE) <= now) {
      await become(kept, 'cancelled', 'who froze its set was cut short')
    } else if (!isUnderWay(state) && until !== undefined && until <= now) {
      await become(kept, 'cancelled', 'nobody began it in time')
    } else if (state === 'following' && !operation.paused && counts.sending + counts.sent === 0) {
      await become(kept, 'done')
    } else return false
    return true
  }

  const look = async (stop: AbortSignal, pauses: Map<string, Pause>): Promise<void> => {
    for (const kept of await operations.list({ live: true }, MOST_LIVE)) {
      const { id } = kept.operation
      const pause = pauses.get(id)
      if (owned.has(id) || busy.has(id) || (await tidyOne(kept)) || !canGoOn(kept)) continue
      if (pause && pause.until > clock.now()) continue
      if (kept.counts.sending === 0 && nextStep(kept.operation, kept.counts, clock.now()).do === 'wait')
        continue
      drive(id, { signal: stop }).then(
        () => void pauses.delete(id),
        (error: Error) => {
          if (stop.aborted) return
          const last = Math.min((pause?.last ?? LOOK / 2) * 2, LONGEST_PAUSE)
          pauses.set(id, { until: clock.now() + last, last })
          journal({ at: clock.now(), is: 'trouble', where: `operation ${id}`, error, retryIn: last })
        },
      )
    }
  }

  return {
    drive,
    own: (id) => {
      owned.add(id)
      return () => void owned.delete(id)
    },
    tidy: async () => {
      for (const kept of await operations.list({ live: true }, MOST_LIVE)) await tidyOne(kept)
    },
    ring: () => bell.abort(),
    run: async (stop) => {
      const pauses = new Map<string, Pause>()
      while (!stop.aborted) {
        try {
          await look(stop, pauses)
        } catch (error) {
          if (stop.aborted) break
          journal({
            at: clock.now(),
            is: 'trouble',
            where: 'operations',
            error: error as Error,
            retryIn: LOOK,
          })
        }
        await clock.sleep(LOOK, AbortSignal.any([stop, bell.signal]))
        if (bell.signal.aborted) bell = new AbortController()
      }
      await Promise.allSettled(busy.values())
    },
  }
}

const canGoOn = ({ operation: { state, paused } }: KeptOperation): boolean =>
  isLive(state) && isUnderWay(state) && !paused

/** What an operation does by itself is in the name of who asked for it. */
export const actBy = (
  { operation, counts }: KeptOperation,
  act: ActName,
  at: Instant,
  reason: string | undefined,
): Act => ({
  at,
  who: operation.by,
  act,
  target: `operation ${operation.id}`,
  count: lettersIn(counts),
  ...(reason !== undefined && { reason }),
  details: { byItself: true } satisfies Details,
})
