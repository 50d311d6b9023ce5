import type { Millis } from '../../core/time.ts'

/** Nothing is wrong but the hour, and that may be the machine's doing: whoever runs the trials may measure again. */
export class TooLate extends Error {
  override readonly name = 'TooLate'
}

export const notLater = (late: Millis, most: Millis, what: string): void => {
  if (late > most) throw new TooLate(what)
}
