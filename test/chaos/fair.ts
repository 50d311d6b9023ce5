/** I7: what the others must keep of their rate. */
export const FAIR = 0.9

export interface Heats {
  readonly heats: number
  /** Where the ratio is too small after those, so many are run: all of them count. */
  readonly mostHeats?: number
}

/** Whether no more heats are run. Not at the first good moment: with enough of them there is one, whatever the truth is. */
export const isDecided = (run: number, ratio: number, { heats, mostHeats = heats }: Heats): boolean =>
  run >= mostHeats || (run === heats && ratio >= FAIR)

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
