import type { Ledger } from '../contracts/ledger.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Delivery, Inlet, Subscription, Transport } from '../contracts/transport.ts'
import type { Held } from '../core/ledger.ts'
import type { Millis } from '../core/time.ts'
import { type Bag, createBag } from './bag.ts'
import { claimAll, claimed } from './claims.ts'
import { createLanes } from './lanes.ts'
import { createSettler, type Settler } from './settle.ts'
import { createWalk, type Door, type WalkOptions } from './walk.ts'

/** One consumer in motion. */
export interface RunningService {
  readonly name: string
  /** Stop pulling → finish → settle → close. What can't finish in time is handed back. */
  drain(within: Millis): Promise<void>
}

export interface ServiceOptions extends Omit<WalkOptions, 'abandon'> {
  readonly name: string
  readonly concurrency: number
  readonly transport: Transport
  readonly companion: Transport | undefined
  readonly ledger: Ledger
  readonly tools: Tools
}

interface OpenDoor extends Door {
  readonly inlet: Inlet
  readonly claims: boolean
  /** Deliveries that are out and unsettled. */
  readonly out: Bag<Delivery>
  /** There while nothing more is pulled until some are settled. */
  wake: (() => void) | undefined
  readonly settler: Settler
}

export const startService = async (options: ServiceOptions): Promise<RunningService> => {
  const { name, plan, transport, companion, ledger, tools } = options
  const { clock, journal } = tools
  const stop = new AbortController()
  const abandon = new AbortController()
  const lanes = createLanes(options.concurrency)
  const walk = createWalk({ ...options, abandon: abandon.signal })

  const openDoor = async (from: Transport, subscription: Subscription): Promise<OpenDoor> => {
    const inlet = await from.subscribe(subscription)
    const { claims, later } = from.can
    const settler = createSettler({
      address: subscription,
      inlet,
      ledger: claims ? undefined : ledger,
      companion,
      tools,
    })
    return {
      subscription,
      transport: transport.name,
      later,
      inlet,
      claims,
      settler,
      out: createBag(),
      wake: undefined,
    }
  }

  /** Pulls in gulps of half a window: single deliveries would cost a round trip or a commit each. */
  const pull = async (door: OpenDoor): Promise<void> => {
    const { window } = door.subscription
    let pause = 100
    while (!stop.signal.aborted) {
      if (door.out.size > window / 2) {
        await settledOne(door)
        continue
      }
      // quick handlers end within this turn: their settlements and the next gulp then share a commit
      await clock.sleep(0)
      try {
        const batch = await door.inlet.receive(window - door.out.size, stop.signal)
        if (batch.length > 0) await admit(door, batch)
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

  const admit = async (door: OpenDoor, batch: readonly Delivery[]): Promise<void> => {
    const leaving = batch.map((delivery) => door.out.add(delivery))
    const ready = door.claims ? batch : await claimBatch(door, batch)
    // it stays out, and goes back when the inlet closes
    if (stop.signal.aborted) return
    ready.forEach((delivery, i) => {
      const { priority, orderkey } = delivery.parcel.event.extensions
      lanes.add({
        lane: door.subscription.order === 'key' ? orderkey : undefined,
        fast: priority === 'high' || priority === 'critical',
        run: (slot) => walk(delivery, door, slot, () => leave(door, leaving[i]!)),
      })
    })
  }

  const claimBatch = async (door: OpenDoor, batch: readonly Delivery[]): Promise<readonly Delivery[]> => {
    const { ledgerKey, lease } = door.subscription
    const keys = batch.map(({ parcel, redelivered }) => ledgerKey?.(parcel, redelivered))
    const claims = await claimAll(ledger, keys, () => clock.now() + lease, tools, stop.signal)
    return claims ? claimed(batch, claims) : []
  }

  const settledOne = (door: OpenDoor): Promise<void> =>
    new Promise((resolve) => {
      door.wake = resolve
    })
  const leave = (door: OpenDoor, goOut: () => void): void => {
    goOut()
    if (door.out.size > door.subscription.window / 2 && !stop.signal.aborted) return
    door.wake?.()
    door.wake = undefined
  }

  /** Keeps what is out ours: leases and claims are shorter than the longest handler. */
  const keep = async (door: OpenDoor): Promise<void> => {
    const { lease } = door.subscription
    for (;;) {
      await clock.sleep(lease / 3, closed.signal)
      if (closed.signal.aborted) return
      const out = door.out.values()
      if (out.length === 0) continue
      const until = clock.now() + lease
      try {
        await door.inlet.extend(out, until)
        if (!door.claims) await ledger.renew(out.flatMap(heldBy), until)
      } catch (error) {
        journal({
          at: clock.now(),
          is: 'trouble',
          where: `keeping deliveries of ${name}`,
          error: error as Error,
        })
      }
    }
  }

  const closed = new AbortController()
  const doors: OpenDoor[] = []
  for (const subscription of plan.subscriptions) {
    doors.push(await openDoor(transport, subscription))
    if (companion) doors.push(await openDoor(companion, subscription))
  }
  const pulling = doors.map(pull)
  const keeping = doors.map(keep)
  journal({ at: clock.now(), is: 'started', service: name })

  return {
    name,
    drain: async (within) => {
      stop.abort()
      lanes.clear()
      for (const { wake } of doors) wake?.()
      await Promise.all(pulling)
      const patience = new AbortController()
      const over = clock.sleep(within, patience.signal).then(() => {
        if (!patience.signal.aborted) abandon.abort(new Error('the service is draining'))
      })
      await lanes.idle()
      patience.abort()
      await over
      for (const door of doors) await door.settler.idle()
      closed.abort()
      await Promise.all(keeping)
      await releaseClaims(doors, ledger)
      for (const { inlet } of doors) await inlet.close()
      journal({ at: clock.now(), is: 'drained', service: name })
    },
  }
}

const heldBy = ({ claim }: Delivery): readonly Held[] => (claim?.is === 'fresh' ? [claim.held] : [])

/** What never began goes back with its inlet's close; its claim must not look like a crash. */
const releaseClaims = async (doors: readonly OpenDoor[], ledger: Ledger): Promise<void> => {
  const held = doors.flatMap(({ out, claims }) => (claims ? [] : out.values().flatMap(heldBy)))
  if (held.length > 0) await ledger.finish(held.map((each) => ({ held: each, as: 'free' as const })))
}
