import type { Found, NeededTopic } from './checks.ts'
import { answerIn } from './detours.ts'
import { CODE, hasCode, reasonOf } from './errors.ts'
import type { Wire } from './wire.ts'

/** Bits in which a broker tells what this user may do. */
export const MAY = { Read: 1 << 3, Write: 1 << 4, Delete: 1 << 6, Alter: 1 << 7 } as const
type Right = keyof typeof MAY

/** It does not tell. */
export const UNKNOWN = -(2 ** 31)

const NEEDED: Readonly<Record<NeededTopic['as'], readonly Right[]>> = {
  source: ['Read'],
  retry: ['Read', 'Write'],
  destination: ['Read', 'Write'],
}

/** What this user may do with topics that are there, as the brokers themselves tell. Nothing is tried out. */
export const rights = async (wire: Wire, topics: readonly NeededTopic[]): Promise<readonly Found[]> => {
  if (topics.length === 0) return []
  const seen = await describe(wire, topics)
  const found: Found[] = []
  for (const topic of topics) {
    const { name, as } = topic
    const { bits = UNKNOWN, partitions = 0 } = seen.get(name) ?? {}
    const source = seen.get(topic.from ?? '')?.partitions ?? 0
    if (as === 'retry' && partitions < source) found.push(narrow(name, partitions, source, bits))
    if (bits === UNKNOWN) continue
    const lacking = NEEDED[as].filter((right) => (bits & MAY[right]) === 0)
    if (lacking.length > 0) found.push(refused(topic, lacking.join(' and ')))
    if (as === 'retry' && (bits & MAY.Delete) === 0) found.push(uncut(name))
  }
  const wrong = found.some(({ check }) => check === 'kafka-permissions')
  if (wrong || [...seen.values()].every(({ bits }) => bits === UNKNOWN)) return found
  const what = `this user may do with ${topics.length} what is to be done with them`
  return [...found, { check: 'kafka-permissions', level: 'fine', where: 'topics', what }]
}

const describe = async ({ admin, client }: Wire, topics: readonly NeededTopic[]) => {
  const { brokers } = await admin.metadata({ topics: [] })
  const connection = await admin.connections.get([...brokers.values()][0]!)
  const names = topics.map(({ name }) => name)
  const ask = client.metadataV12.api.async
  const answer = await ask(connection, names, false, true).catch((error: unknown) => {
    const known = answerIn(error)
    if (known) return known as Awaited<ReturnType<typeof ask>>
    throw error
  })
  return new Map(
    answer.topics.map(({ name, partitions, topicAuthorizedOperations: bits }) => [
      name ?? '',
      { bits, partitions: partitions.length },
    ]),
  )
}

const LOST = {
  source: 'nothing is consumed',
  retry: 'whatever fails can neither be put off nor tried again',
  destination: 'what dies can not be buried, or never gets to the office',
}

const refused = ({ name, as }: NeededTopic, lacking: string): Found => ({
  check: 'kafka-permissions',
  level: 'wrong',
  where: name,
  what: `this user may not ${lacking}`,
  why: LOST[as],
  fix: `allow this user ${lacking} on the topic`,
})

const uncut = (name: string): Found => ({
  check: 'kafka-permissions',
  level: 'risky',
  where: name,
  what: 'this user may not Delete',
  why: 'retries that are finished stay until their retention ends: should the broker forget the group, they run again',
  fix: 'allow this user Delete on the topic, by which records are cut off',
})

const narrow = (name: string, has: number, source: number, bits: number): Found => {
  const what = `it has ${has} partitions, and its source ${source}`
  const check = 'kafka-partitions'
  if (bits === UNKNOWN || (bits & MAY.Alter) !== 0) {
    return { check, level: 'fine', where: name, what: `${what}: it will be given more` }
  }
  const why =
    'a key has another partition in retry than it had before, and some owners have none of the retries'
  return {
    check,
    level: 'risky',
    where: name,
    what,
    why,
    fix: `give it ${source} partitions, or allow this user Alter on it`,
  }
}

/** Retries and burials as transactions: whether their names may be used, which Describe goes with. */
export const transactional = async ({ admin, client }: Wire): Promise<readonly Found[]> => {
  const where = 'transactional ids reprieve-*'
  const keyType = client.FindCoordinatorKeyTypes.TRANSACTION
  try {
    await admin.findCoordinator({ keyType, keys: ['reprieve-doctor'] })
    return [{ check: 'kafka-transactions', level: 'fine', where, what: 'a broker keeps them' }]
  } catch (error) {
    const isRefused = hasCode(error, CODE.transactionNotAllowed)
    return [
      {
        check: isRefused ? 'kafka-permissions' : 'kafka-transactions',
        level: 'wrong',
        where,
        what: isRefused ? 'this user may not use them' : `nobody keeps them: ${reasonOf(error)}`,
        why: 'the rules ask for transactions: nothing that fails could be put off or buried',
        fix: isRefused
          ? 'allow this user Write and Describe on the prefix reprieve- of transactional ids'
          : 'look whether __transaction_state has all its leaders',
      },
    ]
  }
}
