import type { Rank } from '../../core/rank.ts'

/** As they stand in a parcel's row. */
export const RANKS: Readonly<Record<Rank, number>> = { fresh: 0, retry: 1, urgent: 2 }

const ALL = Object.values(RANKS)

/** One look for each rank: so each is a range of the one index that begins with it. */
export const forEachRank = (look: (rank: number) => string, between: string): string =>
  ALL.map((rank) => `(${look(rank)})`).join(between)
