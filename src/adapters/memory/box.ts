import type { Parcel } from '../../core/parcel.ts'
import { type Rank, rankOf, type Turns, takeInTurn } from '../../core/rank.ts'
import type { Instant, Millis } from '../../core/time.ts'

/** A parcel in a box. Whoever names its current token holds it; every change of hands makes a new one. */
export interface Item {
  parcel: Parcel
  token: number
  /** As it was when it became ready last. */
  rank: Rank
  /** It was handed over before, and came back without having been settled. */
  returned: boolean
  /** While it is out: when its holder's time is over. */
  leaseEnd: Instant
  readonly placedAt: Instant
  /** It is dead and this is its letter: as the head of its line it holds its order key. */
  letter: string | undefined
}

/**
 * What waits for one subscription, or lies at one destination.
 *
 *   waiting  not yet due, by due time
 *   ready    may be handed over, each rank in order of arrival
 *   out      handed over and unsettled, until its lease ends
 *   lines    order by key: all parcels of a key, oldest first; only the first of a line is in one of the above,
 *            and where that one is dead, none
 */
export interface Box {
  /** Rules of the latest who opened it; all may change with a new subscription. */
  /** Whether events of this type are ordered by key. */
  inOrder: (type: string) => boolean
  expire: Millis
  /** From now on events of these types are urgent, where they don't say; what is ready already included. */
  urge(urges: (type: string) => boolean): void
  put(parcel: Parcel, now: Instant): void
  take(most: number, turns: Turns, now: Instant, leaseEnd: Instant, except?: ReadonlySet<string>): Gulp
  /** Settled for good. */
  remove(item: Item, now: Instant): void
  /** Dead: its followers, if its key has a line, wait until it is brought back or released. */
  hold(item: Item, letter: string, now: Instant): void
  release(orderKey: string, letter: string, now: Instant): void
  /** How many wait behind this letter. */
  behind(orderKey: string, letter: string): number
  /** Puts a forwarded parcel in the place of its dead self; true too where it stands in line already. */
  isInLine(parcel: Parcel, now: Instant): boolean
  /** Out, and back in: as another parcel, or as it was. */
  again(item: Item, parcel: Parcel, now: Instant): void
  giveBack(item: Item): void
  extend(item: Item, leaseEnd: Instant): void
  /** What could be taken, and what follows in line: it waits as well. */
  waitingNow(now: Instant): readonly Item[]
  /** How many wait behind the dead. */
  held(): number
  /** When, with no one's doing, more may become ready. */
  next(): Instant
  readonly bell: Set<() => void>
}

export interface Gulp {
  readonly taken: readonly Item[]
  /** How the turns stand after it. */
  readonly passed: number
}

export const openBox = (): Box => {
  const waiting: Item[] = []
  const ready: Readonly<Record<Rank, Set<Item>>> = { urgent: new Set(), fresh: new Set(), retry: new Set() }
  const ranks = Object.values(ready)
  let urges: (type: string) => boolean = () => false
  const out = new Set<Item>()
  const lines = new Map<string, Item[]>()
  const bell = new Set<() => void>()
  /** No lease ends before this; it may lie too early, never too late. */
  let firstLeaseEnd = Number.POSITIVE_INFINITY

  const ring = () => {
    for (const wake of [...bell]) wake()
  }
  const lineOf = ({ parcel }: Item) => {
    const key = parcel.event.extensions.orderkey
    return key === undefined ? undefined : lines.get(key)
  }

  const makeReady = (item: Item) => {
    const { event, trail } = item.parcel
    const { type, extensions } = event
    item.rank = rankOf({ type, priority: extensions.priority, spent: trail.spent }, urges)
    ready[item.rank].add(item)
  }

  const place = (item: Item, now: Instant) => {
    const { due } = item.parcel
    if (due <= now) makeReady(item)
    else {
      const after = waiting.findLastIndex((other) => other.parcel.due <= due)
      waiting.splice(after + 1, 0, item)
    }
    ring()
  }

  const giveBack = (item: Item) => {
    item.token++
    item.returned = true
    out.delete(item)
    makeReady(item)
    ring()
  }

  const remove = (item: Item, now: Instant) => {
    item.token++
    out.delete(item)
    ready[item.rank].delete(item)
    const line = lineOf(item)
    if (line?.[0] === item) {
      line.shift()
      if (line[0]) place(line[0], now)
      else lines.delete(item.parcel.event.extensions.orderkey!)
    }
    ring()
  }

  /** Brings in what is due and what its holder lost, and lets go what has lain here too long. */
  const sweep = (now: Instant) => {
    while (waiting[0] && waiting[0].parcel.due <= now) makeReady(waiting.shift()!)
    if (firstLeaseEnd <= now) {
      firstLeaseEnd = Number.POSITIVE_INFINITY
      for (const item of out) {
        if (item.leaseEnd <= now) giveBack(item)
        else firstLeaseEnd = Math.min(firstLeaseEnd, item.leaseEnd)
      }
    }
    if (box.expire === Number.POSITIVE_INFINITY) return
    for (const items of ranks) {
      for (const item of items) if (item.placedAt + box.expire <= now) remove(item, now)
    }
  }

  const box: Box = {
    inOrder: () => false,
    expire: Number.POSITIVE_INFINITY,
    bell,
    put: (parcel, now) => {
      const was = { token: 0, rank: 'fresh', returned: false, leaseEnd: 0, letter: undefined } as const
      const item: Item = { parcel, ...was, placedAt: now }
      const { type, extensions } = parcel.event
      const key = box.inOrder(type) ? extensions.orderkey : undefined
      if (key === undefined) return place(item, now)
      const line = lines.get(key)
      if (line) line.push(item)
      else {
        lines.set(key, [item])
        place(item, now)
      }
    },
    urge: (asked) => {
      urges = asked
      const all = ranks.flatMap((items) => [...items])
      for (const items of ranks) items.clear()
      for (const item of all) makeReady(item)
    },
    take: (most, turns, now, leaseEnd, except) => {
      sweep(now)
      const gulp = takeInTurn(most, turns, (rank, some) => {
        const taken: Item[] = []
        for (const item of ready[rank]) {
          if (taken.length >= some) break
          if (except?.has(item.parcel.event.type)) continue
          ready[rank].delete(item)
          out.add(item)
          item.token++
          item.leaseEnd = leaseEnd
          taken.push(item)
        }
        return taken
      })
      if (gulp.taken.length) firstLeaseEnd = Math.min(firstLeaseEnd, leaseEnd)
      return gulp
    },
    remove,
    hold: (item, letter, now) => {
      if (lineOf(item)?.[0] !== item) return remove(item, now)
      item.token++
      item.letter = letter
      out.delete(item)
    },
    release: (orderKey, letter, now) => {
      const head = lines.get(orderKey)?.[0]
      if (head?.letter === letter) remove(head, now)
    },
    behind: (orderKey, letter) => {
      const line = lines.get(orderKey)
      return line?.[0]?.letter === letter ? line.length - 1 : 0
    },
    isInLine: (parcel, now) => {
      const { event, trail } = parcel
      const line = event.extensions.orderkey === undefined ? undefined : lines.get(event.extensions.orderkey)
      return (line ?? []).some((item) => {
        const known = item.parcel
        if (known.event.id !== event.id || known.event.source !== event.source) return false
        if (item.letter !== undefined && item.letter === trail.replay?.letter) {
          item.token++
          item.letter = undefined
          item.returned = false
          item.parcel = parcel
          place(item, now)
          return true
        }
        if (known.trail.generation < trail.generation) return false
        if (known.event.extensions.correlationid !== event.extensions.correlationid) return false
        return isSame(known.event.data, event.data)
      })
    },
    again: (item, parcel, now) => {
      item.token++
      item.returned = false
      item.parcel = parcel
      out.delete(item)
      place(item, now)
    },
    giveBack,
    extend: (item, leaseEnd) => {
      item.leaseEnd = leaseEnd
      firstLeaseEnd = Math.min(firstLeaseEnd, leaseEnd)
    },
    waitingNow: (now) => {
      sweep(now)
      const followers = [...lines.values()].flatMap((line) => (isHeld(line) ? [] : line.slice(1)))
      return [...ranks.flatMap((items) => [...items]), ...followers.filter(({ parcel }) => parcel.due <= now)]
    },
    held: () => [...lines.values()].reduce((sum, line) => sum + (isHeld(line) ? line.length - 1 : 0), 0),
    next: () => Math.min(waiting[0]?.parcel.due ?? Number.POSITIVE_INFINITY, firstLeaseEnd),
  }
  return box
}

const isHeld = (line: readonly Item[]): boolean => line[0]?.letter !== undefined

const isSame = (a: Uint8Array | null, b: Uint8Array | null): boolean =>
  a === null || b === null ? a === b : Buffer.compare(a, b) === 0
