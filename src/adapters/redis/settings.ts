import { ReprieveError } from '../../core/error.ts'
import type { Millis } from '../../core/time.ts'
import { decoded, parameter, strayAt } from '../../core/url.ts'

export interface Settings {
  readonly host: string
  readonly port: number
  readonly tls: boolean
  readonly username: string | undefined
  readonly password: string | undefined
  readonly database: number
  /** Where that is, for messages: never with credentials. */
  readonly place: string
  /** With it begins the name of every key of ours. */
  readonly prefix: string
  /** The longest that one step may take. */
  readonly timeout: Millis
}

const OURS = ['prefix', 'timeout']
const TIMEOUT: Millis = 10_000

/** redis[s]://user:password@host:6379/database?prefix=reprieve&timeout=10000 */
export const readUrl = (url: string): Settings => {
  const stray = strayAt(url)
  if (stray) throw refuse(stray)
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed?.hostname || !/^rediss?:$/.test(parsed.protocol)) {
    throw refuse('this is not a redis:// or rediss:// URL with a host in it')
  }
  const asked = parsed.searchParams
  for (const name of asked.keys()) if (!OURS.includes(name)) throw refuse(`${parameter(name)} is not known`)
  const database = parsed.pathname.slice(1)
  if (!/^\d{0,5}$/.test(database)) throw refuse('the database in it is no number')
  const prefix = asked.get('prefix') ?? 'reprieve'
  // braces say which part of a key decides on its place in a cluster: that part is ours to say
  if (!/^[^{}\s]{1,100}$/.test(prefix)) throw refuse(`'?prefix=' is a word without braces`)
  const timeout = Number(asked.get('timeout') ?? TIMEOUT)
  if (!Number.isInteger(timeout) || timeout < 100 || timeout > 600_000) {
    throw refuse(`'?timeout=' is no whole number of milliseconds from 100 to 600000`)
  }
  const port = Number(parsed.port) || 6379
  return {
    host: parsed.hostname.replace(/^\[|\]$/g, ''),
    port,
    tls: parsed.protocol === 'rediss:',
    username: parsed.username === '' ? undefined : decoded(parsed.username, 'the user', refuse),
    password: parsed.password === '' ? undefined : decoded(parsed.password, 'the password', refuse),
    database: Number(database),
    place: `${parsed.hostname}:${port}${parsed.pathname.length > 1 ? parsed.pathname : ''}`,
    prefix,
    timeout,
  }
}

const refuse = (why: string): ReprieveError =>
  new ReprieveError('bad_url', `store URL for Redis: ${why}`, {
    fix: `write it as redis://user:password@host:6379/0, with ${OURS.map((name) => `?${name}=`).join(', ')} if wanted`,
  })
