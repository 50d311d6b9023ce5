import type { Board, Entry } from '../../contracts/board.ts'
import type { Tools } from '../../contracts/tools.ts'
import type { Json } from '../../core/json.ts'
import type { Link } from './link.ts'
import { POST } from './scripts.ts'

/**
 * One hash for the whole board: it is small, and a beginning of a name can be looked for only where all names are.
 * Versions are counted for all of it: an entry that was gone in between never looks unchanged.
 */
export const boardOf = (link: Link, prefix: string, { clock }: Tools): Board => {
  const board = `${prefix}:{board}`
  const counter = `${prefix}:{board}:version`
  return {
    post: async (entry, value, ttl, ifVersion) => {
      const now = clock.now()
      const until = Math.ceil(now + ttl)
      const words = [entry, JSON.stringify(value), `${Math.floor(now)}`, `${until}`, `${ifVersion ?? ''}`]
      return Number(await link.run(POST, [board, counter], words)) === 1
    },
    read: async (prefix) => {
      const now = clock.now()
      const fields = (await link.command(['HGETALL', board])) as readonly string[]
      const entries: Entry[] = []
      for (let i = 0; i < fields.length; i += 2) {
        if (fields[i]!.startsWith(prefix)) entries.push(entryOf(fields[i]!, fields[i + 1]!))
      }
      return entries.filter(({ until }) => until > now).sort((a, b) => (a.entry < b.entry ? -1 : 1))
    },
  }
}

const entryOf = (entry: string, text: string): Entry => {
  const [, version, until, value] = /^(\d+) (-?\d+) (.*)$/s.exec(text)!
  return { entry, value: JSON.parse(value!) as Json, version: Number(version), until: Number(until) }
}
