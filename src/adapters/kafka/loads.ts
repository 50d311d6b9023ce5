import { BATCH_BYTES, type Outgoing, REQUEST_BYTES } from './outgoing.ts'

/** What one caller gave, and its answers. */
export interface Consignment {
  readonly records: readonly Outgoing[]
  /** undefined: durable; null: not known yet. */
  readonly answers: (Error | undefined | null)[]
  /** How many answers are still out. */
  left: number
  resolve(answers: readonly (Error | undefined)[]): void
}

/** Some records of a consignment, one after the other. */
export interface Piece {
  readonly of: Consignment
  readonly from: number
  readonly to: number
}

/** The records of one request, in the order of their consignments. */
export type Load = readonly Piece[]

export const consign = (records: readonly Outgoing[], resolve: Consignment['resolve']): Consignment => ({
  records,
  answers: new Array(records.length).fill(null),
  left: records.length,
  resolve,
})

/** The first answer counts: one that comes after somebody gave up is for nobody. */
export const answer = (of: Consignment, at: number, error?: Error): void => {
  if (of.answers[at] !== null) return
  of.answers[at] = error
  if (--of.left === 0) of.resolve(of.answers as (Error | undefined)[])
}

/** Those that have no answer yet, each by itself. */
export const unanswered = (load: Load): readonly Piece[] =>
  load.flatMap(({ of, from, to }) => {
    const singles: Piece[] = []
    for (let at = from; at < to; at++) if (of.answers[at] === null) singles.push({ of, from: at, to: at + 1 })
    return singles
  })

export const recordsOf = (load: Load): readonly Outgoing[] =>
  load.length === 1 && load[0]!.from === 0 && load[0]!.to === load[0]!.of.records.length
    ? load[0]!.of.records
    : load.flatMap(({ of, from, to }) => of.records.slice(from, to))

/**
 * Takes as many as one request may carry, without splitting the order of a partition. `hold` takes out of the way what
 * can't go now.
 */
export const nextLoad = (queue: Piece[], hold: (of: Consignment, at: number) => boolean): Load => {
  const load: Piece[] = []
  const filled = new Map<string, number[]>()
  let total = 0
  const fits = ({ topic, partition = 0, bytes }: Outgoing): boolean => {
    let places = filled.get(topic)
    if (!places) {
      places = []
      filled.set(topic, places)
    }
    const before = places[partition] ?? 0
    if (before > 0 && before + bytes > BATCH_BYTES) return false
    if (total > 0 && total + bytes > REQUEST_BYTES) return false
    places[partition] = before + bytes
    total += bytes
    return true
  }
  while (queue.length > 0) {
    const { of, from, to } = queue.shift()!
    let begun = from
    for (let at = from; at <= to; at++) {
      const held = at < to && hold(of, at)
      if (at < to && !held && fits(of.records[at]!)) continue
      if (at > begun) load.push({ of, from: begun, to: at })
      begun = at + 1
      if (at === to || held) continue
      queue.unshift({ of, from: at, to })
      return load
    }
  }
  return load
}
