import type { Doctor, Finding } from '../../contracts/doctor.ts'
import { loadDriver } from './client.ts'
import { type Link, openLink } from './link.ts'
import { type Info, readInfo } from './server.ts'
import { readUrl } from './settings.ts'
import { refusalOf } from './trouble.ts'

const CHECKS = [
  'redis-version',
  'redis-role',
  'redis-permissions',
  'redis-eviction',
  'redis-memory',
  'redis-persistence',
  'redis-writes',
] as const
type Found = Finding<(typeof CHECKS)[number]>

const OLDEST = 6

export const doctor: Doctor = {
  checks: CHECKS,
  examine: async (url, _needs, tools) => {
    const settings = readUrl(url)
    const link = openLink(await loadDriver(), settings, tools)
    try {
      const info = await infoOf(link, settings.prefix)
      if (isFound(info)) return [info]
      const about = [...server(info), ...memory(info), ...(await persistence(link, info))]
      // whoever is no primary refuses what is asked next, whatever the user may do
      if (about.some(({ check, level }) => check === 'redis-role' && level === 'wrong')) return about
      return [...about, await permissions(link, settings.prefix)]
    } finally {
      await link.close()
    }
  },
}

/** Nothing is written: a script that does nothing, and a look for a key that nobody has. */
const permissions = async (link: Link, prefix: string): Promise<Found> => {
  const where = `keys that begin with '${prefix}:'`
  try {
    await link.command(['EVAL', 'return 1', '0'])
    await link.command(['EXISTS', `${prefix}:ledger:{doctor}:`])
    return { check: 'redis-permissions', level: 'fine', where, what: 'the user may use what is needed' }
  } catch (error) {
    return forbidden(where, prefix, error)
  }
}

const forbidden = (where: string, prefix: string, error: unknown): Found => {
  // some users may not even give their connection a name: then it is the cause that says so
  const refusal = [error, (error as Error).cause].find((each) => refusalOf(each) === 'NOPERM')
  if (!refusal) throw error
  return {
    check: 'redis-permissions',
    level: 'wrong',
    where,
    what: `the user is not allowed what is needed (${(refusal as Error).message})`,
    why: 'the ledger and the board are kept by scripts, and INFO tells whether the server may keep them',
    fix: `let an administrator say: ACL SETUSER <our user> ~${prefix}:* +@read +@write +@scripting +@connection +info`,
  }
}

const infoOf = async (link: Link, prefix: string): Promise<Info | Found> => {
  try {
    return readInfo(String(await link.command(['INFO'])))
  } catch (error) {
    return forbidden('INFO', prefix, error)
  }
}

const isFound = (answer: Info | Found): answer is Found => 'level' in answer

function* server(info: Info): Generator<Found> {
  const version = info.redis_version ?? '?'
  const old = Number.parseInt(version, 10) < OLDEST
  yield {
    check: 'redis-version',
    level: old ? 'risky' : 'fine',
    where: 'server',
    what: `Redis ${version}`,
    ...(old && {
      why: `it is not tested with anything older than ${OLDEST}`,
      fix: `use Redis ${OLDEST} or newer`,
    }),
  }
  if (info.cluster_enabled === '1') {
    yield {
      check: 'redis-role',
      level: 'wrong',
      where: 'server',
      what: 'it is a node of a cluster, which this adapter does not speak to yet',
      fix: 'use one server, with replicas if wanted',
    }
  } else if (info.role === 'slave') {
    const fix = 'name the primary in the URL'
    yield {
      check: 'redis-role',
      level: 'wrong',
      where: 'server',
      what: 'it is a replica: it takes no writes',
      fix,
    }
  } else yield { check: 'redis-role', level: 'fine', where: 'server', what: 'it is a primary' }
}

function* memory(info: Info): Generator<Found> {
  const policy = info.maxmemory_policy ?? 'noeviction'
  const most = Number(info.maxmemory ?? 0)
  const used = Number(info.used_memory ?? 0)
  const where = 'maxmemory-policy'
  if (policy === 'noeviction') yield { check: 'redis-eviction', level: 'fine', where, what: policy }
  else {
    yield {
      check: 'redis-eviction',
      level: most > 0 ? 'wrong' : 'risky',
      where,
      what: most > 0 ? `${policy}, and maxmemory is set` : `${policy}, though maxmemory is not set yet`,
      why: 'what the ledger forgets is processed twice',
      fix: 'CONFIG SET maxmemory-policy noeviction, and the same in redis.conf; or a server of its own for the ledger',
    }
  }
  if (most > 0 && used > most * 0.9) {
    yield {
      check: 'redis-memory',
      level: 'risky',
      where: 'maxmemory',
      what: `${Math.round((used / most) * 100)} % of it are used`,
      why: 'once it is full no claim is taken, and everything stands still',
      fix: 'raise maxmemory, or shorten the idempotency ttl in the rule book',
    }
  } else
    yield {
      check: 'redis-memory',
      level: 'fine',
      where: 'maxmemory',
      what: most > 0 ? 'there is room' : 'not set',
    }
}

const FORGETS = 'claims and what was done are forgotten when it ends, and those events are processed twice'

const persistence = async (link: Link, info: Info): Promise<readonly Found[]> => [
  await log(link, info),
  disk(info),
]

const log = async (link: Link, info: Info): Promise<Found> => {
  const where = 'appendonly'
  if (info.aof_enabled === '1') {
    const sync = (await config(link, 'appendfsync')) ?? 'unknown (CONFIG is not allowed)'
    const sure = sync === 'always'
    return {
      check: 'redis-persistence',
      level: sync === 'no' || sync === 'everysec' ? 'risky' : 'fine',
      where,
      what: `yes, appendfsync ${sync}`,
      ...(!sure && {
        why: `at a loss of power what was written ${sync === 'no' ? 'since the system last wrote to disk' : 'in the last second'} is forgotten, and processed twice`,
        fix: 'appendfsync always, where events must not be processed twice',
      }),
    }
  }
  const save = await config(link, 'save')
  return {
    check: 'redis-persistence',
    level: save === '' ? 'wrong' : 'risky',
    where,
    what: save === '' ? 'nothing is kept on disk at all' : 'no append-only file, only snapshots now and then',
    why: save === '' ? FORGETS : `since the last snapshot: ${FORGETS}`,
    fix: 'CONFIG SET appendonly yes, and in redis.conf: appendonly yes, appendfsync always',
  }
}

const disk = (info: Info): Found => {
  const failed = ['aof_last_write_status', 'rdb_last_bgsave_status'].filter((name) => info[name] === 'err')
  return {
    check: 'redis-writes',
    level: failed.length > 0 ? 'wrong' : 'fine',
    where: 'disk',
    what: failed.length > 0 ? `its last write failed (${failed.join(', ')})` : 'its last write went well',
    ...(failed.length > 0 && {
      why: 'it refuses writes as long as its disk does, or keeps them in memory only',
      fix: 'look at its log; free space or mend the rights of its folder',
    }),
  }
}

/** undefined where it may not be asked. */
const config = async (link: Link, name: string): Promise<string | undefined> => {
  try {
    const answer = (await link.command(['CONFIG', 'GET', name])) as readonly unknown[]
    return answer[1] === undefined ? undefined : String(answer[1])
  } catch (error) {
    if (refusalOf(error) !== undefined) return undefined // renamed or forbidden, as hosted servers do
    throw error
  }
}
