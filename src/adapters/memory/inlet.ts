import type { Tools } from '../../contracts/tools.ts'
import type { Delivery, Inlet, Settled, Settlement, Subscription } from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import { endingOf, heldHere } from '../../core/ledger.ts'
import { mailOf } from '../../core/letter.ts'
import { checkDue } from '../../core/parcel.ts'
import type { Box, Item } from './box.ts'
import { copyOf } from './copy.ts'
import { sendTo, type World } from './world.ts'

/** What an inlet knows of a delivery that is out. */
interface Out {
  readonly item: Item
  readonly token: number
}

/** A reason of its own: the one that would be made for each abort costs more than all the rest. */
const OVER = 'the wait is over'

export type Terms = Pick<Subscription, 'lease' | 'window' | 'ledgerKey'>

export const openInlet = (world: World, box: Box, terms: Terms, { clock }: Tools): Inlet => {
  const held = new Map<Delivery, Out>()
  /** Fresh ones since the last retry. */
  let passed = 0
  let closed = false

  const isOurs = ({ item, token }: Out): boolean => item.token === token

  /** Deliveries that others took over in the meantime no longer fill the window. */
  const room = (): number => {
    if (held.size >= terms.window) {
      for (const [delivery, out] of held) if (!isOurs(out)) held.delete(delivery)
    }
    return terms.window - held.size
  }

  const retrying = (): number => {
    let count = 0
    for (const out of held.values()) if (out.item.rank === 'retry' && isOurs(out)) count++
    return count
  }

  const handOver = (item: Item): Delivery => {
    const { parcel, returned, leaseEnd } = item
    const key = terms.ledgerKey?.(parcel, returned)
    const claim = key && world.rows.claim(key, clock.now(), leaseEnd)
    const delivery: Delivery = { parcel, redelivered: returned, ...(claim && { claim }) }
    held.set(delivery, { item, token: item.token })
    return delivery
  }

  const receive: Inlet['receive'] = async (max, signal, except) => {
    while (!closed && !signal.aborted) {
      const now = clock.now()
      const before = room()
      const turns = { window: terms.window, retrying: retrying(), passed }
      const gulp = box.take(Math.max(0, Math.min(max, before)), turns, now, now + terms.lease, except)
      passed = gulp.passed
      if (gulp.taken.length) return gulp.taken.map(handOver)
      // looking brought back what was out for too long, and so made room: no bell rings for that again
      if (before > 0 || room() <= 0) await change(signal)
    }
    return []
  }

  /** Something happened to the box, or becomes due, or nobody wants to wait any more. */
  const change = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const rest = new AbortController()
      const end = () => {
        box.bell.delete(end)
        signal.removeEventListener('abort', end)
        rest.abort(OVER)
        resolve()
      }
      box.bell.add(end)
      signal.addEventListener('abort', end, { once: true })
      const next = box.next()
      if (Number.isFinite(next)) void clock.sleep(next - clock.now(), rest.signal).then(end)
    })

  const settleOne = (settlement: Settlement): Settled => {
    const { delivery } = settlement
    const out = held.get(delivery)
    const sent = sentBy(settlement)
    if (sent instanceof Error && out && isOurs(out)) return sent
    held.delete(delivery)
    if (!out || !isOurs(out) || sent instanceof Error) return 'lost'
    const now = clock.now()
    const claim = heldHere(delivery.claim)
    if (claim) {
      const as = endingOf(settlement, delivery.parcel.trail)
      // A newer attempt took the claim over: only giving back changes nothing, so only that may go on.
      if (!world.rows.finish({ held: claim, as }, now) && settlement.do !== 'give back') return 'lost'
    }
    switch (settlement.do) {
      case 'give back':
        box.giveBack(out.item)
        break
      case 'later':
        box.again(out.item, copyOf(settlement.parcel), now)
        break
      case 'bury':
        sendTo(world, settlement.to, sent!, now)
        if (settlement.holds) box.hold(out.item, settlement.letter.id, now)
        else box.remove(out.item, now)
        break
      case 'ack':
        if (settlement.receipt) sendTo(world, settlement.receipt.to, sent!, now)
        box.remove(out.item, now)
    }
    return 'done'
  }

  return {
    receive,
    settle: async (batch) => batch.map(settleOne),
    extend: async (deliveries, until) => {
      for (const delivery of deliveries) {
        const out = held.get(delivery)
        if (!out || !isOurs(out)) continue
        box.extend(out.item, until)
        const claim = heldHere(delivery.claim)
        if (claim) world.rows.renew(claim, until)
      }
    },
    lag: async () => {
      const waiting = box.waitingNow(clock.now())
      const oldest = waiting.reduce(
        (least, { parcel }) => Math.min(least, parcel.due),
        Number.POSITIVE_INFINITY,
      )
      const held = box.held()
      const most = held > 0 ? { held } : {}
      return waiting.length ? { waiting: waiting.length, oldest, ...most } : { waiting: 0, ...most }
    },
    close: async () => {
      closed = true
      for (const delivery of [...held.keys()]) settleOne({ do: 'give back', delivery })
      for (const wake of [...box.bell]) wake()
    },
  }
}

/** What goes to a destination with it. What can't be written fails before anything is changed. */
const sentBy = (settlement: Settlement): Event | Error | undefined => {
  try {
    if (settlement.do === 'later') checkDue(settlement.parcel)
    return mailOf(settlement)?.event
  } catch (error) {
    return error as Error
  }
}
