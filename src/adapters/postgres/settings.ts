import { ReprieveError } from '../../core/error.ts'
import type { Millis } from '../../core/time.ts'
import { decoded, parameter, strayAt } from '../../core/url.ts'

export interface Settings {
  /** For the client only: it holds the password. */
  readonly connectionString: string
  /** Where that is, for messages: never with credentials. */
  readonly place: string
  readonly user: string | undefined
  /** The schema that our tables live in. */
  readonly schema: string
  /** The most connections of this process. */
  readonly pool: number
  /** The longest that one statement may take, there and here. */
  readonly timeout: Millis
  /** How often who waits for events looks for those that other processes wrote. */
  readonly poll: Millis
}

const OURS = ['schema', 'pool', 'timeout', 'poll']
/** What the client itself understands of a URL. */
const CLIENTS = [
  'sslmode',
  'sslcert',
  'sslkey',
  'sslrootcert',
  'sslnegotiation',
  'host',
  'port',
  'uselibpqcompat',
]
const POOL = 4
const TIMEOUT: Millis = 10_000
const POLL: Millis = 500

/** postgres://user:password@host:5432/database?schema=reprieve&pool=4&timeout=10000&poll=500 */
export const readUrl = (url: string): Settings => {
  const stray = strayAt(url)
  if (stray) throw refuse(stray)
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !/^postgres(ql)?:$/.test(parsed.protocol)) throw refuse('this is no postgres:// URL')
  const asked = parsed.searchParams
  for (const name of asked.keys()) {
    if (![...OURS, ...CLIENTS].includes(name)) throw refuse(`${parameter(name)} is not known`)
  }
  if (parsed.hostname === '' && !asked.has('host')) throw refuse('there is no host in it')
  const schema = asked.get('schema') ?? 'reprieve'
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw refuse(`'?schema=' names a schema in small letters, digits and underscores`)
  }
  const pool = whole(asked.get('pool'), POOL, 1, 100, 'pool')
  const timeout = whole(asked.get('timeout'), TIMEOUT, 100, 600_000, 'timeout')
  const poll = whole(asked.get('poll'), POLL, 1, 600_000, 'poll')
  for (const name of OURS) asked.delete(name)
  const host = asked.get('host') ?? `${parsed.hostname}:${parsed.port || 5432}`
  return {
    connectionString: parsed.href,
    place: `${host}${decoded(parsed.pathname, 'the database', refuse)}`,
    user: parsed.username === '' ? undefined : decoded(parsed.username, 'the user', refuse),
    schema,
    pool,
    timeout,
    poll,
  }
}

const whole = (text: string | null, otherwise: number, least: number, most: number, name: string): number => {
  if (text === null) return otherwise
  const number = Number(text)
  if (Number.isInteger(number) && number >= least && number <= most) return number
  throw refuse(`'?${name}=' is no whole number from ${least} to ${most}`)
}

const refuse = (why: string): ReprieveError =>
  new ReprieveError('bad_url', `URL for PostgreSQL: ${why}`, {
    fix: `write it as postgres://user:password@host:5432/database, with ${OURS.map((name) => `?${name}=`).join(', ')} if wanted`,
  })
