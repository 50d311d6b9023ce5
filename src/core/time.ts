/** A span of time in milliseconds. */
export type Millis = number

/** A moment, in milliseconds since the epoch. */
export type Instant = number

export const iso = (at: Instant): string => new Date(at).toISOString()
