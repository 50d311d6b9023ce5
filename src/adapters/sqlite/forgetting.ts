import type { Clock } from '../../contracts/tools.ts'
import type { Instant, Millis } from '../../core/time.ts'
import type { File } from './file.ts'

/** Enough to be worth a look, few enough to cost a commit nothing. */
const STEP = 100
const MOST = 500
/** A claim that nobody came back for: its parcel is gone, and what it tells of crashes is of no more use. */
const ABANDONED: Millis = 7 * 24 * 3_600_000
/** A board entry's version outlives it a while, so that nobody mistakes a new entry for the one he read. */
const BOARD_KEEPS: Millis = 3_600_000
const BOARD_PAUSE: Millis = 1000

const STOP = `
SELECT service, id FROM reprieve_ledger WHERE (service, id) > (?, ?) ORDER BY service, id LIMIT 1 OFFSET ?`
const STALE = '(until <= ? AND state <> 0 OR until <= ?)'
const FORGET = `
DELETE FROM reprieve_ledger WHERE (service, id) > (?, ?) AND (service, id) <= (?, ?) AND ${STALE}`
const FORGET_TO_THE_END = `DELETE FROM reprieve_ledger WHERE (service, id) > (?, ?) AND ${STALE}`
const BOARD = `
DELETE FROM reprieve_board WHERE entry IN (SELECT entry FROM reprieve_board WHERE until <= ? LIMIT ${STEP})`

/**
 * Drops what may be forgotten, a little within commits that are made anyway. The ledger is walked round and
 * round, half a row for each row that is written: two for each event. So it grows to one and a half times
 * what it must remember, and needs no index by age, which every event would have to pay for.
 */
export const forgetting = (file: File, clock: Clock): ((written: number) => void) => {
  let owed = 0
  let place: readonly [service: string, id: string] = ['', '']
  let boardNext: Instant = 0

  /** Step by step in SQL alone: to bring the rows over here would take longer than all else. */
  const walk = (now: Instant): void => {
    const stop = file.sql(STOP).get(...place, Math.min(Math.floor(owed), MOST) - 1)
    const next = stop && ([stop.service as string, stop.id as string] as const)
    if (next) file.sql(FORGET).run(...place, ...next, now, now - ABANDONED)
    else file.sql(FORGET_TO_THE_END).run(...place, now, now - ABANDONED)
    place = next ?? ['', '']
    owed = 0
  }

  return (written) => {
    const now = clock.now()
    owed += written / 2
    if (owed >= STEP) walk(now)
    if (now >= boardNext) {
      file.sql(BOARD).run(now - BOARD_KEEPS)
      boardNext = now + BOARD_PAUSE
    }
  }
}
