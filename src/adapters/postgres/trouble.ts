import { ReprieveError } from '../../core/error.ts'

/** What the server says went wrong, by its five characters; undefined where it is not the server that speaks. */
export const stateOf = (error: unknown): string | undefined => {
  const code = (error as { code?: unknown } | undefined)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

export const UNIQUE_VIOLATION = '23505'

/** Two that met at the same rows: nothing was written, and doing it again is all that is needed. */
export const isCollision = (error: unknown): boolean => ['40001', '40P01'].includes(stateOf(error) ?? '')

/** After these the connection is of no more use: the server goes, or is not a writable one. */
export const isFatal = (error: unknown): boolean => {
  const state = stateOf(error)
  return state === undefined || /^(08|57P|25006)/.test(state)
}

export const unavailable = (place: string, what: string, cause?: unknown, fix?: string): ReprieveError => {
  const why =
    cause instanceof Error && !fix ? `: ${cause.message || (cause as NodeJS.ErrnoException).code}` : ''
  return new ReprieveError('unavailable', `PostgreSQL at ${place}: ${what}${why}`, {
    ...(fix !== undefined && { fix }),
    cause,
  })
}

/** What is there is not what this program can work with. */
export const differs = (place: string, what: string, fix: string): ReprieveError =>
  new ReprieveError('topology_differs', `PostgreSQL at ${place}: ${what}`, { fix })

/** Should two meet in a circle after all, the server ends one of them, and it does its work again. */
export const again = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries === 3 || !isCollision(error)) throw error
    }
  }
}

/** Two met whom no lock kept apart: as where the server itself says so. */
export const collision = (): Error =>
  Object.assign(new Error('a row was changed by another transaction'), { code: '40001' })

export const closedError = (place: string): ReprieveError =>
  new ReprieveError('closed', `the store in PostgreSQL at ${place} is closed`)

/** A connection that could not be made, in words that can be acted on. */
export const unreachable = (error: unknown, place: string, user: string | undefined): ReprieveError => {
  const { code } = error as { code?: unknown }
  if (code === 'ECONNREFUSED') {
    return unavailable(
      place,
      'nothing listens there (ECONNREFUSED)',
      error,
      'start it, or mend host and port in the URL',
    )
  }
  if (code === 'ENOTFOUND') {
    return unavailable(place, 'the host is not known (ENOTFOUND)', error, 'mend the host in the URL')
  }
  if (code === '28P01' || code === '28000') {
    const fix = 'mend user and password in the URL, or create the user in the database'
    return unavailable(place, `the user '${user ?? ''}' was refused (${code})`, error, fix)
  }
  if (code === '3D000') {
    return unavailable(
      place,
      'there is no such database (3D000)',
      error,
      'create it, or mend its name in the URL',
    )
  }
  if (code === '53300') {
    return unavailable(
      place,
      'it has no connection left (53300)',
      error,
      'lower ?pool= in the URL, or raise its max_connections',
    )
  }
  return unavailable(place, "can't connect", error)
}
