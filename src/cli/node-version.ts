import { ReprieveError } from '../core/error.ts'

/** The oldest of each line that will do, as package.json's `engines` has it: the SQLite of older ones can spoil a database. */
const OLDEST: Readonly<Record<number, readonly [minor: number, patch: number]>> = { 22: [22, 3], 24: [15, 0] }
const NEWEST_LINE = 24

export const NEEDED = '^22.22.3 || >=24.15.0'

/** An older Node fails in the middle of the work, with words that help nobody. */
export const checkNode = (version: string): void => {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  const oldest = OLDEST[major]
  const isFine = oldest
    ? minor > oldest[0] || (minor === oldest[0] && patch >= oldest[1])
    : major > NEWEST_LINE
  if (isFine) return
  throw new ReprieveError('bad_usage', `this is Node ${version}, and Reprieve needs ${NEEDED}`, {
    fix: 'install a newer Node: nodejs.org has them; `node --version` tells which one runs',
  })
}
