import { CODE, hasCode } from './errors.ts'
import { type Commit, type Offsets, placeOf } from './offsets.ts'

/**
 * there: as we wrote them · absent: certainly not, or pending, though the broker calls the transaction ended · unclear: others
 * have written since, and nobody can tell after what
 */
export type Standing = 'there' | 'absent' | 'unclear'

/** How the offsets of a transaction stand when the broker says that it is over. One mark ends them all. */
export const standingOf = async (offsets: Offsets, commits: readonly Commit[]): Promise<Standing> => {
  try {
    return standing(await offsets.committed(commits, true), commits)
  } catch (error) {
    if (hasCode(error, CODE.unstable)) return 'absent'
    throw error
  }
}

export const standing = (
  found: Awaited<ReturnType<Offsets['committed']>>,
  commits: readonly Commit[],
): Standing => {
  const pairs = commits.map((wanted) => ({ wanted, is: found.get(placeOf(wanted)) }))
  // what is committed never goes back: whoever begins where we did not get to has not seen it
  if (pairs.some(({ wanted, is }) => is === undefined || is.offset < wanted.offset)) return 'absent'
  const same = pairs.every(({ wanted, is }) => is!.offset === wanted.offset && is!.text === wanted.text)
  return same ? 'there' : 'unclear'
}
