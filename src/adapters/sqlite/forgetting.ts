import type { Clock } from '../../contracts/tools.ts'
import type { Instant, Millis } from '../../core/time.ts'
import type { File } from './file.ts'

const PAUSE: Millis = 1000
const MOST = 200
/** A board entry's version outlives it a while, so that nobody mistakes a new entry for the one he read. */
const BOARD_KEEPS: Millis = 3_600_000

const LEDGER = `
DELETE FROM reprieve_ledger WHERE (service, id) IN (
  SELECT service, id FROM reprieve_ledger WHERE state <> 0 AND until <= ? LIMIT ${MOST})`

const BOARD = `
DELETE FROM reprieve_board WHERE entry IN (SELECT entry FROM reprieve_board WHERE until <= ? LIMIT ${MOST})`

/**
 * Drops what may be forgotten, a little within commits that are made anyway: once a second, and with each
 * commit while there is more, which is faster than commits can add to it.
 */
export const forgetting = (file: File, clock: Clock): (() => void) => {
  let next: Instant = 0
  return () => {
    const now = clock.now()
    if (now < next) return
    const dropped = Number(file.sql(LEDGER).run(now).changes)
    file.sql(BOARD).run(now - BOARD_KEEPS)
    if (dropped < MOST) next = now + PAUSE
  }
}
