import { ReprieveError } from '../../core/error.ts'

/** Redis begins what it refuses with a word in capitals; undefined where it is not the server that speaks. */
export const refusalOf = (error: unknown): string | undefined =>
  error instanceof Error ? /^([A-Z]{2,})\b/.exec(error.message)?.[1] : undefined

/** After these there is nothing to be had from this connection: it must be made anew, perhaps to another server. */
export const isFatal = (error: unknown): boolean => {
  const refusal = refusalOf(error)
  return refusal === undefined || ['READONLY', 'MASTERDOWN', 'NOAUTH'].includes(refusal)
}

export const unavailable = (place: string, what: string, cause?: unknown, fix?: string): ReprieveError => {
  const why = cause instanceof Error && !fix ? `: ${cause.message || cause.name}` : ''
  return new ReprieveError('unavailable', `Redis at ${place}: ${what}${why}`, {
    ...(fix !== undefined && { fix }),
    cause,
  })
}

export const closedError = (place: string): ReprieveError =>
  new ReprieveError('closed', `the store in Redis at ${place} is closed`)

/** A connection that could not be made, in words that can be acted on. */
export const unreachable = (error: unknown, place: string, user: string | undefined): ReprieveError => {
  const { code } = error as { code?: unknown }
  if (code === 'ECONNREFUSED') {
    const fix = 'start it, or mend host and port in the URL'
    return unavailable(place, 'nothing listens there (ECONNREFUSED)', error, fix)
  }
  if (code === 'ENOTFOUND') {
    return unavailable(place, 'the host is not known (ENOTFOUND)', error, 'mend the host in the URL')
  }
  const refusal = refusalOf(error)
  if (refusal === 'WRONGPASS' || refusal === 'NOAUTH') {
    const fix = 'mend user and password in the URL'
    return unavailable(place, `the user '${user ?? 'default'}' was refused (${refusal})`, error, fix)
  }
  return unavailable(place, "can't connect", error)
}
