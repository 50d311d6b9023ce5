import { systemClock } from '../../adapters/system/clock.ts'
import type { Instant, Millis } from '../../core/time.ts'
import { wantsJson } from './say.ts'
import { span } from './time.ts'

/** How far long work is: a bar in the last line of a terminal, gone without a trace when the work has ended. */
export interface Progress {
  /** So many are done, of so many where that is known. */
  at(done: number, of?: number): void
  end(): void
}

const WIDTH = 24
const REDRAW: Millis = 100
/** Before that any guess is worse than none. */
const GUESS_AFTER: Millis = 1000
/** Before a line that takes the place of the last one. */
export const CLEAR = '\r\u001b[2K'

/** On stderr, where a terminal looks on and nobody asked for JSON. `done` says what becomes of them: repaired, written. */
export const showProgress = (done: string): Progress =>
  process.stderr.isTTY === true && !wantsJson() ? onTerminal(done) : UNSEEN

const UNSEEN: Progress = { at: () => {}, end: () => {} }

export const withProgress = async <T>(done: string, work: (at: Progress['at']) => Promise<T>): Promise<T> => {
  const { at, end } = showProgress(done)
  try {
    return await work(at)
  } finally {
    end()
  }
}

const onTerminal = (done: string): Progress => {
  const begun = systemClock.now()
  let drawn: Instant | undefined
  const clear = () => void (drawn !== undefined && process.stderr.write(CLEAR))
  // stopped from the keyboard it leaves no half of a bar before the prompt
  const stopped = () => {
    clear()
    process.removeListener('SIGINT', stopped)
    process.kill(process.pid, 'SIGINT')
  }
  process.on('SIGINT', stopped)
  return {
    at: (count, of) => {
      const now = systemClock.now()
      const last = of !== undefined && count >= of
      if (drawn !== undefined && !last && now - drawn < REDRAW) return
      drawn = now
      const columns = process.stderr.columns || 80
      const text = progressLine(count, of, done, now - begun)
      process.stderr.write(`${CLEAR}${text.slice(0, Math.max(1, columns - 1))}`)
    },
    end: () => {
      process.removeListener('SIGINT', stopped)
      clear()
    },
  }
}

/** Nothing to do is done. */
export const bar = (done: number, of: number): string => {
  const full = of === 0 ? WIDTH : Math.min(WIDTH, Math.round((done / of) * WIDTH))
  return `[${'█'.repeat(full)}${' '.repeat(WIDTH - full)}]`
}

export const progressLine = (count: number, of: number | undefined, done: string, took: Millis): string => {
  const said = count.toLocaleString('en')
  if (of === undefined) return `${said} ${done}`
  const left =
    took >= GUESS_AFTER && count > 0 && count < of
      ? `, about ${span(Math.ceil(((took / count) * (of - count)) / 1000) * 1000)} left`
      : ''
  return `${bar(count, of)} ${said} of ${of.toLocaleString('en')} ${done}${left}`
}
