import type { NeededForeign } from '../../contracts/doctor.ts'
import type { Found, NeededTopic } from './checks.ts'
import { rights } from './doctor-rights.ts'
import { examineTopics } from './doctor-topics.ts'
import type { Wire } from './wire.ts'

const LOOKED_AT: readonly Found['check'][] = ['kafka-leader', 'kafka-retention', 'kafka-compaction']

/** Topics that others write, from which the office takes their dead letters. They are never made or changed by us. */
export const examineForeign = async (
  wire: Wire,
  foreign: readonly NeededForeign[],
  there: ReadonlySet<string>,
): Promise<readonly Found[]> => {
  if (foreign.length === 0) return []
  const missing = foreign.filter(({ name }) => !there.has(name))
  const topics = foreign.filter(({ name }) => there.has(name)).map(asTopic)
  const found: Found[] = missing.map(({ name }) => ({
    check: 'kafka-foreign',
    level: 'risky',
    where: name,
    what: 'it is not there, or this user may not see it',
    why: 'the office looks again until it is; if the name is wrong that is for ever, and its letters stay unseen',
    fix: 'start whoever makes it, mend its name under foreign in the rule book, or allow this user Read and Describe',
  }))
  // they are only read
  const allowed = await rights(
    wire,
    topics.map((each) => ({ ...each, as: 'source' })),
  )
  for (const each of [...allowed, ...(await examineTopics(wire, topics))]) {
    if (each.level === 'fine') continue
    if (each.check === 'kafka-permissions') found.push(each)
    else if (LOOKED_AT.includes(each.check)) found.push({ ...each, check: 'kafka-foreign' })
  }
  if (found.length > 0) return found
  const what = `${topics.length} are there, and keep letters for as long as an office may be away`
  return [{ check: 'kafka-foreign', level: 'fine', where: 'foreign topics', what }]
}

const asTopic = ({ name, keep }: NeededForeign): NeededTopic => ({
  name,
  as: 'destination',
  partitions: 1,
  keep,
  because: 'an office may be away for',
})
