import type { Desk } from '../../contracts/desk.ts'
import type { KeptLetter } from '../../contracts/letters.ts'
import { type ActOnLetters, actOn } from '../../core/acts.ts'
import type { Act } from '../../core/audit.ts'
import type { Repair } from '../../core/repair.ts'
import { type KeptGroups, noteArrival, noteResolved } from './groups.ts'

/** With its versions, which nobody sees but the desk. */
type WithVersions = KeptLetter & { readonly versions?: readonly Repair[] }

export const deskOf = (
  kept: Map<string, KeptLetter>,
  groups: KeptGroups,
  append: (act: Act) => unknown,
): Desk => {
  const versionsOf = (id: string): readonly Repair[] =>
    (kept.get(id) as WithVersions | undefined)?.versions ?? []
  const tell = (act: ActOnLetters, ids: readonly string[], done: readonly boolean[]) => {
    const which = ids.filter((_, i) => done[i])
    if (which.length > 0) append(actOn(act, which))
    return done
  }
  return {
    repair: async (repairs, act) => {
      const done = repairs.map(({ id, from, repair }) => {
        const found = kept.get(id)
        const versions = versionsOf(id)
        if (!found || !from.includes(found.state) || repair.version !== versions.length + 1) return false
        const changed: WithVersions = { ...found, repair, versions: [...versions, repair] }
        kept.set(id, changed)
        return true
      })
      return tell(
        act,
        repairs.map(({ id }) => id),
        done,
      )
    },
    versions: async (id) => versionsOf(id),
    remove: async (ids, from, act) => {
      const touched = new Set<string>()
      const done = ids.map((id) => {
        const found = kept.get(id)
        if (!found || !from.includes(found.state)) return false
        touched.add(found.letter.fingerprint)
        return kept.delete(id)
      })
      for (const fingerprint of touched) narrow(kept, groups, fingerprint)
      return tell(act, ids, done)
    },
    bring: async (letters, act) => {
      const done = letters.map(({ letter, state, stateAt, repairs }) => {
        if (kept.has(letter.id)) return false
        noteArrival(groups, letter, false)
        const last = repairs.at(-1)
        const brought: WithVersions = {
          ...{ letter, state, stateAt },
          ...(last && { repair: last, versions: repairs }),
        }
        kept.set(letter.id, brought)
        if (state === 'resolved') noteResolved(groups, letter.fingerprint, stateAt)
        return true
      })
      return tell(
        act,
        letters.map(({ letter }) => letter.id),
        done,
      )
    },
  }
}

/** What the group is without the letters that went: its times and its sample are of those that are left. */
export const narrow = (
  kept: ReadonlyMap<string, KeptLetter>,
  groups: KeptGroups,
  fingerprint: string,
): void => {
  const left = [...kept.values()].filter(({ letter }) => letter.fingerprint === fingerprint)
  const known = groups.get(fingerprint)
  if (left.length === 0 || !known) return void groups.delete(fingerprint)
  const { firstAt: _, lastAt: __, sample: ___, error: ____, ...rest } = known.group
  const bounds = new Map<string, typeof known>()
  for (const { letter } of left.sort((a, b) => a.letter.buriedAt - b.letter.buriedAt))
    noteArrival(bounds, letter, false)
  groups.set(fingerprint, { ...known, group: { ...rest, ...bounds.get(fingerprint)!.group } })
}
