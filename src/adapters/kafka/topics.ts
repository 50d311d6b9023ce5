import { ReprieveError } from '../../core/error.ts'
import type { Millis } from '../../core/time.ts'
import type { ClusterMetadata } from './client.ts'
import {
  CODE,
  hasCode,
  isOfTopic,
  isUnknownTopic,
  isWithheld,
  reasonOf,
  responsesIn,
  unavailable,
} from './errors.ts'
import type { Wire } from './wire.ts'
import { within } from './within.ts'

export interface WantedTopic {
  readonly name: string
  readonly partitions: number
  /** How long the broker keeps its records; undefined: as its own default says, Infinity: for ever. */
  readonly keep?: Millis
}

/** Topics that brokers neither show nor let us make. */
export type Withheld = ReadonlyMap<string, Error>

export interface Topics {
  /** Creates what is missing and waits until every partition has a leader, or its broker is known to be away. */
  ensure(wanted: readonly WantedTopic[], anew?: boolean): Promise<void>
  /** As `ensure`, of as many as can be had: answers with those that are withheld from us, and why. */
  ensureMost(wanted: readonly WantedTopic[], anew?: boolean): Promise<Withheld>
  exist(names: readonly string[]): Promise<boolean>
  /** Gives them more partitions where they have fewer; says so where that is not allowed. */
  widen(names: readonly string[], partitions: number): Promise<void>
  /** How many partitions it has, or had when last looked at; it must have been ensured. */
  partitions(name: string): number
  /** Those that had a leader when last looked at. */
  led(name: string): readonly number[]
  /** Is looked at again before it is next relied on. */
  forget(name: string): void
}

const NAME = /^[\w.-]{1,249}$/
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024
/** A copy carries its trail, and a letter its data as text: what was published must be able to get there. */
const MAX_COPY_BYTES = 16 * 1024 * 1024
/** A small broker in a hurry has been seen to take more than ten seconds until it knows of topics that it has just made. */
const PATIENCE = 30_000
/** One look, and the making of many topics, which a small broker takes its time for. */
const ANSWER = 12_000
const MAKING = 60_000
const LOOK_AGAIN = 5 * 60_000
/** Where a partition has no leader. */
const LOOK_SOON = 5_000
/** A connection that was cut is made again by the next one. */
const TRIES = 4
const PAUSE = 200

export const topicsOf = ({ admin, settings, tools }: Wire): Topics => {
  /** What each has as far as we know, and until when that is relied on. */
  const known = new Map<string, { partitions: number; led: readonly number[]; until: number }>()
  const isKnown = (name: string) => (known.get(name)?.until ?? 0) > tools.clock.now()
  const forget = (name: string) => {
    const had = known.get(name)
    if (had) known.set(name, { ...had, until: 0 })
  }

  /** The client's own tries would go on about a topic that is missing, too. */
  const ask = async (names: readonly string[]) => {
    for (let tries = 1; ; tries++) {
      try {
        return await admin.metadata({ topics: [...names], forceUpdate: true, retries: 0 })
      } catch (error) {
        if (isOfTopic(error) || tries >= TRIES) throw error
        await tools.clock.sleep(PAUSE)
      }
    }
  }
  const look = async (names: readonly string[]) => {
    const { topics } = await within(ANSWER, tools.clock, () => ask(names))
    for (const name of names) {
      const partitions = topics.get(name)?.partitions ?? []
      if (partitions.length === 0 || partitions.some((each) => !each || isComing(each))) return false
    }
    for (const name of names) {
      const { partitions, partitionsCount } = topics.get(name)!
      const led = partitions.flatMap(({ leader }, partition) => (leader < 0 ? [] : [partition]))
      const until = tools.clock.now() + (led.length < partitionsCount ? LOOK_SOON : LOOK_AGAIN)
      known.set(name, { partitions: partitionsCount, led, until })
    }
    return true
  }
  const notTold = (names: readonly string[], error: unknown) => {
    const some =
      names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')
    const fix = hasCode(error, CODE.topicNotAllowed)
      ? "allow this user Describe on them, and what else it needs there: 'reprieve doctor' tells"
      : undefined
    return unavailable(settings.brokers, `asking for the topics ${some}`, error, fix)
  }
  /** Asked one by one only where one of them is missing: the answer for several does not tell which. */
  const isMissing = async (name: string): Promise<boolean> => {
    try {
      await look([name])
      return false
    } catch (error) {
      if (isUnknownTopic(error)) return true
      throw error
    }
  }
  const create = async (wanted: readonly WantedTopic[]) => {
    const kinds = Map.groupBy(wanted, ({ keep }) => keep)
    for (const [keep, topics] of kinds) {
      const most = keep === undefined ? MAX_MESSAGE_BYTES : MAX_COPY_BYTES
      const configs = [{ name: 'max.message.bytes', value: String(most) }]
      // brokers say 1 by themselves, and confirm what is lost with one; of more than three they may ask for more
      if (settings.replication === 3) configs.push({ name: 'min.insync.replicas', value: '2' })
      if (keep !== undefined)
        configs.push({ name: 'retention.ms', value: keep === Infinity ? '-1' : `${keep}` })
      try {
        await within(MAKING, tools.clock, () =>
          admin.createTopics({
            topics: topics.map(({ name, partitions }) => ({ topic: name, partitions })),
            replicas: settings.replication,
            configs,
          }),
        )
      } catch (error) {
        if (!onlyExists(error)) throw notCreated(settings.brokers, topics, error)
      }
    }
  }
  const untilLed = async (names: readonly string[], least = 1) => {
    const giveUp = tools.clock.now() + PATIENCE
    let last: unknown = new Error(`no leader for ${names.join(', ')}`)
    while (tools.clock.now() < giveUp) {
      try {
        if ((await look(names)) && names.every((name) => known.get(name)!.partitions >= least)) return
      } catch (error) {
        last = error
      }
      await tools.clock.sleep(30)
    }
    throw unavailable(settings.brokers, 'waiting for leaders of new topics', last)
  }

  const ensure: Topics['ensure'] = async (wanted, anew = false) => {
    if (anew) for (const { name } of wanted) forget(name)
    const fresh = wanted.filter(({ name }) => !isKnown(name))
    if (fresh.length === 0) return
    for (const { name } of fresh) checkName(name)
    const names = [...new Set(fresh.map(({ name }) => name))]
    try {
      if (await look(names)) return
    } catch (error) {
      if (!isUnknownTopic(error)) throw notTold(names, error)
      const missing = await Promise.all(names.map(isMissing)).catch((reason: unknown) => {
        throw notTold(names, reason)
      })
      await create(
        names.flatMap((name, i) => (missing[i] ? [fresh.find((each) => each.name === name)!] : [])),
      )
    }
    await untilLed(names)
  }

  return {
    ensure,
    ensureMost: async (wanted, anew) => {
      const withheld = new Map<string, Error>()
      const note = (each: WantedTopic) => (error: unknown) => {
        if (!(error instanceof Error && isWithheld(error))) throw error
        withheld.set(each.name, error)
      }
      try {
        await ensure(wanted, anew)
      } catch (error) {
        if (!isWithheld(error)) throw error
        for (const each of wanted) await ensure([each]).catch(note(each))
      }
      return withheld
    },
    exist: async (names) => {
      if (names.every(isKnown)) return true
      if (!names.every((name) => NAME.test(name))) return false
      try {
        await look(names)
        return true
      } catch (error) {
        if (isUnknownTopic(error)) return false
        throw notTold(names, error)
      }
    },
    widen: async (names, partitions) => {
      const narrow = names.filter((name) => (known.get(name)?.partitions ?? partitions) < partitions)
      if (narrow.length === 0) return
      try {
        const wider = narrow.map((name) => ({ name, count: partitions }))
        await within(MAKING, tools.clock, () => admin.createPartitions({ topics: wider }))
        await untilLed(narrow, partitions)
      } catch (error) {
        const text = `kafka: ${narrow.join(', ')} could not be given ${partitions} partitions: ${reasonOf(error)}`
        tools.journal({ is: 'notice', at: tools.clock.now(), text })
      }
    },
    partitions: (name) => known.get(name)?.partitions ?? 1,
    led: (name) => known.get(name)?.led ?? [],
    forget,
  }
}

/** A new one has no leader yet. One whose broker is away may have none for long, and others are not kept waiting for it. */
const isComing = ({ leader, offlineReplicas }: Partition): boolean =>
  leader < 0 && offlineReplicas.length === 0

type Partition = NonNullable<ReturnType<ClusterMetadata['topics']['get']>>['partitions'][number]

const onlyExists = (error: unknown): boolean => {
  const codes = (responsesIn(error) as { topics?: { errorCode: number }[] }[]).flatMap(
    ({ topics }) => topics?.map(({ errorCode }) => errorCode) ?? [],
  )
  return codes.length > 0 && codes.every((code) => code === 0 || code === CODE.topicExists)
}

const checkName = (name: string) => {
  if (NAME.test(name) && name !== '.' && name !== '..') return
  throw new ReprieveError('bad_rules', `kafka: '${name}' can't be the name of a topic`, {
    fix: 'use at most 249 letters, digits, dots, underscores and hyphens',
  })
}

const notCreated = (
  brokers: readonly string[],
  topics: readonly WantedTopic[],
  cause: unknown,
): ReprieveError => {
  const names = topics.map(({ name }) => name).join(', ')
  const message = `kafka at ${brokers.join(', ')}: could not create ${names}: ${reasonOf(cause)}`
  if (hasCode(cause, CODE.invalidTopic)) return new ReprieveError('bad_rules', message, { cause })
  if (hasCode(cause, CODE.invalidReplication)) {
    return new ReprieveError('bad_url', message, {
      cause,
      fix: 'set ?replication= to what the brokers allow',
    })
  }
  const fix = hasCode(cause, CODE.topicNotAllowed, CODE.clusterNotAllowed, CODE.policyViolation)
    ? 'allow this user to create topics, or create them beforehand'
    : undefined
  return new ReprieveError('unavailable', message, { cause, ...(fix && { fix }) })
}
