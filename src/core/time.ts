/** A span of time in milliseconds. */
export type Millis = number

/** A moment, in milliseconds since the epoch. */
export type Instant = number

export const iso = (at: Instant): string => new Date(at).toISOString()

const UNITS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1000, 'second'],
] as const

/** For people: in its largest unit, to a tenth. */
export const span = (ms: Millis): string => {
  const [unit, name] = UNITS.find(([each]) => ms >= each) ?? UNITS.at(-1)!
  const count = unit === 1000 ? ms / unit : Math.round((ms / unit) * 10) / 10
  return `${count} ${name}${count === 1 ? '' : 's'}`
}
