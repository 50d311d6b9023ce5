import type { Board, Entry } from '../../contracts/board.ts'
import type { Instant } from '../../core/time.ts'

export type Entries = Map<string, Entry>

/** Versions are counted for the whole board: an entry that was gone in between never looks unchanged. */
export const boardOf = (world: { readonly entries: Entries; version: number }, now: () => Instant): Board => {
  const current = (name: string): Entry | undefined => {
    const found = world.entries.get(name)
    if (found && found.until > now()) return found
    world.entries.delete(name)
    return undefined
  }
  return {
    post: async (entry, value, ttl, ifVersion) => {
      if (ifVersion !== undefined && ifVersion !== (current(entry)?.version ?? 0)) return false
      const kept = { entry, value: structuredClone(value), version: ++world.version, until: now() + ttl }
      world.entries.set(entry, kept)
      return true
    },
    read: async (prefix) =>
      [...world.entries.keys()]
        .filter((name) => name.startsWith(prefix))
        .sort()
        .flatMap((name) => current(name) ?? [])
        .map((entry) => structuredClone(entry)),
  }
}
