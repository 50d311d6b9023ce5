import type { Tools } from '../../contracts/tools.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Link } from './link.ts'

/** Looks whether this server can keep a ledger: one that drops rows, or takes no writes, can't. */
export const checkServer = async (link: Link, { clock, journal }: Tools): Promise<void> => {
  const info = readInfo(String(await link.command(['INFO'])))
  const refuse = (what: string, fix: string): never => {
    throw new ReprieveError('topology_differs', `Redis at ${link.place} ${what}`, { fix })
  }
  const notice = (text: string) =>
    journal({ at: clock.now(), is: 'notice', text: `Redis at ${link.place} ${text}` })

  if (info.cluster_enabled === '1') {
    refuse(
      'is a node of a cluster, which this adapter does not speak to yet',
      'use one server, with replicas if wanted',
    )
  }
  if (info.role === 'slave') refuse('is a replica: it takes no writes', 'name the primary in the URL')
  const policy = info.maxmemory_policy ?? 'noeviction'
  if (policy !== 'noeviction') {
    if (info.maxmemory !== '0') {
      refuse(
        `drops keys when its memory is full (maxmemory-policy ${policy}): what the ledger forgets is processed twice`,
        'set maxmemory-policy noeviction, or use a server of its own for the ledger',
      )
    }
    notice(`has maxmemory-policy ${policy}, which would drop claims once maxmemory is set: use noeviction`)
  }
  if (info.aof_enabled === '0') {
    notice(
      'keeps no append-only file: what was done since its last snapshot is forgotten when it ends (appendonly yes)',
    )
  }
}

export type Info = Readonly<Record<string, string | undefined>>

export const readInfo = (text: string): Info =>
  Object.fromEntries([...text.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name, value]) => [name, value]))
