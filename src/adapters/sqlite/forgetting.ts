import type { Clock } from '../../contracts/tools.ts'
import type { Instant, Millis } from '../../core/time.ts'
import type { File } from './file.ts'

/** Rows of one look: enough to be worth it, few enough to cost a commit nothing. */
const LEAST = 100
const MOST = 500
/** Rows looked at for each row written, while it pays. */
const LOOKS = 2
/** A look that finds fewer than one in so many to drop did not pay: the next one waits. */
const WORTHWHILE = 4
const PAUSE: Millis = 10_000
/** A claim that nobody came back for: its parcel is gone, and what it tells of crashes is of no more use. */
const ABANDONED: Millis = 7 * 24 * 3_600_000
/** A board entry's version outlives it a while, so that nobody mistakes a new entry for the one he read. */
const BOARD_KEEPS: Millis = 3_600_000
const BOARD_PAUSE: Millis = 1000

const STOP = 'SELECT id FROM reprieve_ledger WHERE service = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?'
const FORGET = `
DELETE FROM reprieve_ledger WHERE service = ? AND id > ? AND id <= ?
  AND (until <= ? AND state <> 0 OR until <= ?)`
const NEXT_SERVICE = 'SELECT service FROM reprieve_ledger WHERE service > ? ORDER BY service LIMIT 1'
const BOARD = `
DELETE FROM reprieve_board WHERE entry IN (SELECT entry FROM reprieve_board WHERE until <= ? LIMIT ${LEAST})`

/** Sorts before, and behind, every id. */
const FIRST = ''
const LAST = '\u{10ffff}'

/**
 * Drops what may be forgotten, a little within commits that are made anyway; an index by age would cost
 * every event more than this costs all of them.
 */
export const forgetting = (file: File, clock: Clock): ((written: number) => void) => {
  const walk = walkOf(file)
  let owed = 0
  let next: Instant = 0
  let boardNext: Instant = 0
  return (written) => {
    const now = clock.now()
    if (now >= next) owed += written * LOOKS
    if (owed >= LEAST) {
      if (!walk(now, Math.min(owed, MOST))) next = now + PAUSE
      owed = 0
    }
    if (now >= boardNext) {
      file.sql(BOARD).run(now - BOARD_KEEPS)
      boardNext = now + BOARD_PAUSE
    }
  }
}

/** Looks at so many rows, and answers whether there is reason to go on at once. */
type Walk = (now: Instant, rows: number) => boolean

/**
 * A tour through the services. In each it looks at the smallest ids, where those that grow with time have
 * their oldest, and then where it stopped the last time, for ids in no order; at both as long as it pays.
 * So about a quarter of what is kept may be past its time, and hardly a row is looked at in vain.
 */
const walkOf = (file: File): Walk => {
  const stopped = new Map<string, string>()
  let service = ''
  let phase: 'next' | 'front' | 'round' = 'next'
  let id = FIRST
  let paid = false

  const endTour = (): boolean => {
    const again = paid
    service = ''
    paid = false
    return again
  }

  return (now, rows) => {
    if (phase === 'next') {
      const row = file.sql(NEXT_SERVICE).get(service)
      if (!row) return endTour()
      service = row.service as string
      phase = 'front'
      id = FIRST
    }
    const end = (file.sql(STOP).get(service, id, rows - 1)?.id as string | undefined) ?? LAST
    const { changes } = file.sql(FORGET).run(service, id, end, now, now - ABANDONED)
    const pays = Number(changes) * WORTHWHILE >= rows
    paid ||= pays
    id = end
    if (phase === 'round') stopped.set(service, end === LAST ? FIRST : end)
    if (pays && end !== LAST) return true
    if (phase === 'front') id = stopped.get(service) ?? FIRST
    phase = phase === 'front' ? 'round' : 'next'
    return true
  }
}
