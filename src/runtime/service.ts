import type { Ledger } from '../contracts/ledger.ts'
import type { Delivery } from '../contracts/transport.ts'
import type { LedgerKey } from '../core/ledger.ts'
import { bestMatch } from '../core/pattern.ts'
import { isUrgent } from '../core/rank.ts'
import type { Millis } from '../core/time.ts'
import type { Waiting } from '../core/waiting.ts'
import { createAstray } from './astray.ts'
import { atMost } from './at-most.ts'
import { type BatchesOptions, batchesFor } from './batches.ts'
import { createCaps } from './caps.ts'
import { claimAll, claimed, isSuspect } from './claims.ts'
import { type DoorsOptions, doorsOf, type OpenDoor } from './doors.ts'
import { createKeeping } from './keeping.ts'
import { createLanes } from './lanes.ts'
import { closeInlet, releaseClaims } from './leave.ts'
import type { Coming } from './moving.ts'
import type { Solo } from './solo.ts'
import { createSuspects } from './suspects.ts'
import { createWalk, type WalkOptions } from './walk.ts'

/** One consumer in motion. */
export interface RunningService {
  readonly name: string
  /** Stop pulling → finish → settle → close. What can't finish in time is handed back. */
  drain(within: Millis): Promise<void>
  /** Whether it is paused has changed: it is looked at now. */
  heed(): void
  /** The handler of this type was mended: what was counted against its messages is forgotten. */
  mended(type: string): void
  /** How much waits to be received, by the place where it waits. */
  lag(): Promise<Waiting[string]>
}

export interface ServiceOptions
  extends Omit<WalkOptions, 'abandon' | 'astray' | 'begin' | 'lost' | 'batches' | 'suspects'>,
    Pick<BatchesOptions, 'window' | 'batchFor'>,
    Omit<DoorsOptions, 'stop' | 'abandon' | 'leave'> {
  readonly name: string
  readonly concurrency: number
  /** By an operator's order: nothing is pulled. */
  readonly isPaused: () => boolean
  /** Of all services of this process. */
  readonly solo: Solo
}

/** How long a broker that does not answer is waited for when the time to leave is over: what it was told may have arrived. */
const LAST_WORD = 5000
/** So many gulps may be had in one turn of the event loop; then timers and other connections have theirs. */
const GULPS = 16
/** How long a pull goes by what a breaker said when it began. */
const LONGEST_LOOK = 1000

export const startService = async (options: ServiceOptions): Promise<RunningService> => {
  const { name, plan, transport, companion, ledgers, tools } = options
  const { clock, journal } = tools
  const stop = new AbortController()
  const abandon = new AbortController()
  const batches = batchesFor(options, abandon.signal)
  const lanes = createLanes(options.concurrency, options.solo, batches && (() => batches.size))
  const admitting = new Set<Promise<void>>()
  const capOf = createCaps()
  const keeping = createKeeping(name, ledgers.all, tools)
  const { begin, lost } = keeping
  const suspects = createSuspects(clock.now)
  const astray = createAstray(tools, plan, stop.signal)
  const walk = createWalk({ ...options, abandon: abandon.signal, astray, begin, lost, batches, suspects })

  const leave = (door: OpenDoor, goOut: () => void): void => {
    goOut()
    if (door.out.size > plan.demand.low && !stop.signal.aborted) return
    door.wake?.()
    door.wake = undefined
  }
  const openDoor = doorsOf({ ...options, stop: stop.signal, abandon: abandon.signal, leave })

  const pull = async (door: OpenDoor): Promise<void> => {
    const { window } = door.subscription
    const { low, atOnce } = plan.demand
    let pause = 100
    let more = false
    while (!stop.signal.aborted) {
      if (options.isPaused()) {
        await clock.sleep(LONGEST_LOOK, stop.signal)
        continue
      }
      if (door.pulling.signal.aborted) door.pulling = new AbortController()
      const { most, except, until } = door.gate()
      if (until !== undefined) {
        await clock.sleep(Math.min(Math.max(until - clock.now(), 1), LONGEST_LOOK), stop.signal)
        continue
      }
      if ((door.out.size > low && !more) || door.out.size >= most) {
        await settledOne(door)
        continue
      }
      await quickOnes(door)
      const late = keeping.catchUp(door)
      if (late) await late
      try {
        const room = Math.min(window, most) - door.out.size
        const batch = await receive(door, Math.min(room, atOnce), except)
        // as large as one may be: there is more, and still room for it
        more = batch.length >= atOnce && room > atOnce
        if (batch.length > 0) await admit(door, batch.some(isSuspect) ? await believed(door, batch) : batch)
        pause = 100
      } catch (error) {
        if (stop.signal.aborted) return
        const where = `receiving ${door.subscription.topic} for ${name}`
        journal({ at: clock.now(), is: 'trouble', where, error: error as Error, retryIn: pause })
        await clock.sleep(pause, stop.signal)
        pause = Math.min(pause * 2, 5000)
      }
    }
  }

  /**
   * Until quick handlers have ended: their settlements and the next gulp then share a commit. Where the broker waits for acks
   * it hears of them within this turn.
   */
  const quickOnes = async (door: OpenDoor): Promise<void> => {
    if (!door.inlet.prompt) return clock.sleep(0)
    await ((++door.gulps % GULPS > 0 && clock.soon?.()) || clock.sleep(0))
    door.settler.leave()
  }

  /** Suspects whose count may be our own doing go back, and come again with what is counted then. */
  const believed = async (door: OpenDoor, batch: readonly Delivery[]): Promise<readonly Delivery[]> => {
    const doubted = await keeping.doubted(door, batch)
    for (const delivery of doubted) door.settler.settle({ do: 'give back', delivery }, () => {})
    return batch.filter((delivery) => !doubted.includes(delivery))
  }

  /** What stays at a door with a mover is in no order. */
  const isInOrder = ({ mover, subscription: { topic, ordering } }: OpenDoor, type: string): boolean =>
    !mover && (!ordering || plan.rulesOf(topic, type).order === 'key')

  /** What waits for a breaker must not wait for others to come as well: it is looked after now and then. */
  const receive = async (
    { inlet, pulling }: OpenDoor,
    room: number,
    except: ReadonlySet<string> | undefined,
  ): Promise<readonly Delivery[]> => {
    if (!except) return inlet.receive(room, pulling.signal)
    const answered = new AbortController()
    const over = clock.sleep(LONGEST_LOOK, answered.signal).then(() => {
      if (!answered.signal.aborted) pulling.abort()
    })
    try {
      return await inlet.receive(room, pulling.signal, except)
    } finally {
      answered.abort('answered')
      await over
    }
  }

  const admit = async (door: OpenDoor, batch: readonly Delivery[]): Promise<void> => {
    const all = batch.map((delivery): Coming => ({ delivery, goOut: door.out.add(delivery) }))
    const coming = door.mover ? door.mover.takeOut(all) : all
    if (!door.ledger) return enter(door, coming)
    if (!ledgers.named) return claimBatch(door, door.ledger, coming)
    // none of several ledgers is waited for: one that is down must not keep back what others hold
    for (const some of Map.groupBy(coming, ({ delivery }) => storeOf(door, delivery)).values()) {
      const claiming = claimBatch(door, door.ledger, some).finally(() => admitting.delete(claiming))
      admitting.add(claiming)
    }
  }

  /** Where that can't be told it is told of with its claim. */
  const storeOf = (door: OpenDoor, delivery: Delivery): string | undefined => {
    try {
      return door.keyOf(delivery)?.store
    } catch {
      return undefined
    }
  }

  const claimBatch = async (door: OpenDoor, ledger: Ledger, coming: readonly Coming[]): Promise<void> => {
    const until = () => clock.now() + door.subscription.lease
    const known: Coming[] = []
    const keys: (LedgerKey | undefined)[] = []
    for (const each of coming) {
      try {
        keys.push(door.keyOf(each.delivery))
        known.push(each)
      } catch (error) {
        astray(error, each.delivery, door, () => leave(door, each.goOut))
      }
    }
    if (keys.every((key) => key === undefined)) return enter(door, known)
    const claims = await claimAll(ledger, keys, until, tools, stop.signal)
    if (!claims) return
    for (let i = 0; i < known.length; i++) claimed(known[i]!.delivery, claims[i])
    enter(door, known)
  }

  const enter = (door: OpenDoor, coming: readonly Coming[]): void => {
    // it stays out, and goes back when the inlet closes
    if (stop.signal.aborted) return
    for (const each of coming) {
      try {
        enterOne(door, each)
      } catch (error) {
        astray(error, each.delivery, door, () => leave(door, each.goOut))
      }
    }
  }

  const enterOne = (door: OpenDoor, { delivery, goOut }: Coming): void => {
    const { type, extensions } = delivery.parcel.event
    const { orderkey } = extensions
    const rules = plan.varied ? plan.rulesOf(door.subscription.topic, type) : undefined
    const priority = extensions.priority ?? rules?.priority
    lanes.add({
      lane: door.subscription.order === 'key' && isInOrder(door, type) ? orderkey : undefined,
      fast: isUrgent(priority),
      alone: isSuspect(delivery),
      retry: delivery.parcel.trail.spent > 0,
      cap: capOf(rules?.concurrency),
      run: (slot) => walk(delivery, door, slot, () => leave(door, goOut)),
    })
  }

  const settledOne = (door: OpenDoor): Promise<void> =>
    new Promise((resolve) => {
      door.wake = resolve
    })

  const closed = new AbortController()
  const doors: OpenDoor[] = []
  for (const subscription of plan.subscriptions) {
    if (companion) doors.push(await openDoor(companion, subscription))
    // last: a broker sends at once, and a window full that has to wait is taken for long-lived by the collector from then on
    doors.push(await openDoor(transport, subscription))
  }
  const pulling = doors.map(pull)
  const kept = doors.map((door) => keeping.keep(door, closed.signal))
  journal({ at: clock.now(), is: 'started', service: name })

  return {
    name,
    heed: () => {
      if (options.isPaused()) for (const { pulling } of doors) pulling.abort()
    },
    mended: (type) => suspects.mended(bestMatch(options.handlers.keys(), type)),
    lag: async () => {
      const places = doors.map(async ({ inlet, direct, subscription: { topic } }) => {
        const { waiting, oldest } = await inlet.lag()
        const waits = { waiting, ...(oldest !== undefined && { oldest }) }
        return [direct ? topic : `${topic}, in the companion`, waits] as const
      })
      return Object.fromEntries(await Promise.all(places))
    },
    drain: async (within) => {
      stop.abort()
      for (const { pulling } of doors) pulling.abort()
      lanes.clear()
      for (const { wake } of doors) wake?.()
      await Promise.all(pulling)
      await Promise.all(admitting)
      for (const { mover } of doors) await mover?.idle()
      batches?.close()
      const patience = new AbortController()
      const over = clock.sleep(within, patience.signal).then(() => {
        if (!patience.signal.aborted) abandon.abort(new Error('the service is draining'))
      })
      const settled = lanes.idle().then(() => Promise.all(doors.map(({ settler }) => settler.idle())))
      await atMost(clock, within + LAST_WORD, settled)
      patience.abort()
      await over
      closed.abort()
      await Promise.all(kept)
      for (const door of doors) await releaseClaims(door, tools)
      for (const { inlet } of doors) await closeInlet(inlet, name, tools)
      journal({ at: clock.now(), is: 'drained', service: name })
    },
  }
}
