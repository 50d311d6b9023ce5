import type { Transport } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import { checkEvent } from '../../core/event.ts'
import type { Millis } from '../../core/time.ts'
import { consumerGroup, type Group } from './group.ts'
import { openInlet } from './inlet.ts'
import { eventRecord, parcelRecord } from './outgoing.ts'
import { parking } from './parking.ts'
import { passing } from './passing.ts'
import { postOffice } from './post.ts'
import { sendBack } from './send-back.ts'
import { tidying } from './tidying.ts'
import { LONGEST, late, officeGroup, retryTopic, retryTopics } from './tiers.ts'
import { topicsOf, type WantedTopic, type Withheld } from './topics.ts'
import { type Transactions, transactionsOf } from './transactions.ts'
import { watching } from './watching.ts'
import type { Counts, Wire } from './wire.ts'
import { within } from './within.ts'

/** Retries left by a service that is gone: long enough for anyone to bring it back. */
const KEEP_RETRIES = 30 * 24 * 60 * 60_000
/** At an office's door, where the rest of the contract has no say. */
const OFFICE_WINDOW = 1_000

/** How long brokers that do not answer may keep us from closing. */
const PATIENCE = 12_000
/** For records that are on their way when it closes. */
const LAST_WORD = 5_000

const NONE: Withheld = new Map()

export const kafkaTransport = (wire: Wire): Transport & { readonly counts: Counts } => {
  const { settings, tools } = wire
  const topics = topicsOf(wire)
  const post = postOffice(wire, topics)
  const groups = new Map<string, Group>()
  const expiries = new Map<string, number>()
  let transactions: Transactions | undefined
  let closed: Promise<void> | undefined

  const alive = () => {
    if (closed) throw new ReprieveError('closed', 'kafka: the transport is closed')
  }
  const source = (name: string): WantedTopic => ({ name, partitions: settings.partitions })
  const destination = (name: string): WantedTopic => ({
    name,
    partitions: 1,
    keep: expiries.get(name) ?? Number.POSITIVE_INFINITY,
  })
  /** As many partitions as the widest source, so that a key has the same one everywhere. */
  const wait = (sources: readonly string[]) => (name: string) => ({
    name,
    partitions: Math.max(1, ...sources.map(topics.partitions)),
    keep: KEEP_RETRIES,
  })
  const ensureAll = async (group: string, sources: readonly string[], others: readonly WantedTopic[]) => {
    await topics.ensure([...sources.map(source), ...others])
    const waits = retryTopics(group).map(wait(sources))
    await topics.ensure(waits)
    await topics.widen(retryTopics(group), waits[0]!.partitions)
  }
  /** One that is withheld stops none of the others; where all are, there is nothing to go on with. */
  const ensureMost = async (group: string, sources: readonly string[], anew: boolean): Promise<Withheld> => {
    const before = await topics.ensureMost(sources.map(source), anew)
    const there = sources.filter((name) => !before.has(name))
    const waits = retryTopics(group).map(wait(there))
    const withheld = new Map([...before, ...(await topics.ensureMost(waits, anew))])
    if (withheld.size === sources.length + waits.length) throw [...withheld.values()][0]
    const have = retryTopics(group).filter((name) => !withheld.has(name))
    await topics.widen(have, waits[0]!.partitions)
    return withheld
  }
  /** What a service settles into: its retry topics, and anybody's destinations. */
  const ensureHomes = async (group: string, names: readonly string[], sources: readonly string[]) => {
    const waits = retryTopics(group)
    if (names.some((name) => waits.includes(name))) await topics.ensure(sources.map(source))
    await topics.ensure(names.map((name) => (waits.includes(name) ? wait(sources)(name) : destination(name))))
  }

  const groupOf = (name: string, make: () => Group): Group => {
    const known = groups.get(name)
    if (known) return known
    const group = make()
    groups.set(name, group)
    return group
  }
  const serviceGroup = (name: string): Group =>
    groupOf(name, () =>
      consumerGroup(wire, {
        name,
        parcelTopics: retryTopics(name),
        later: (wait) => retryTopic(name, wait),
        ready: (names, sources) => ensureHomes(name, names, sources),
        ensure: (names, anew) => ensureMost(name, names, anew),
        onBegin: (group) => {
          void passing(wire, group, post, topics)
          void parking(wire, group, post)
          void tidying(wire, group)
          void watching(wire, group, topics)
        },
        onEmpty: () => groups.delete(name),
      }),
    )
  /** Someone else's topic is never created. */
  const checkThere = async (topic: string): Promise<void> => {
    if (await topics.exist([topic])) return
    throw new ReprieveError(
      'unknown_destination',
      `kafka: there is no topic '${topic}', and it is not ours to make`,
      {
        fix: 'start whoever writes to it, or mend its name under foreign in the rule book',
      },
    )
  }
  const groupOfOffice = (topic: string, foreign: boolean): Group => {
    const name = officeGroup(topic)
    return groupOf(name, () =>
      consumerGroup(wire, {
        name,
        // what looks like our headers in someone else's topic is not
        parcelTopics: foreign ? [] : [topic],
        // Put off so rarely that it waits in the destination itself.
        later: () => topic,
        foreign,
        ready: (names) => topics.ensure(names.map(destination)),
        // a letter that the store refuses stays ours, and is no reason to write into the destination
        squeezes: true,
        // it has no other topic that could go on
        ensure: async (names, anew) => {
          await (foreign ? checkThere(topic) : topics.ensure(names.map(destination), anew))
          return NONE
        },
        onEmpty: () => groups.delete(name),
      }),
    )
  }
  const sendAll = async (records: Parameters<typeof post.send>[0]) => {
    const failed = (await post.send(records)).find((error) => error)
    if (failed) throw failed
  }

  /** Whatever is not answered: the connections are closed in the end. */
  const leave = async (): Promise<void> => {
    const atMost = (ms: Millis, work: () => Promise<unknown> | undefined) =>
      within(ms, tools.clock, async () => work()).catch(() => {}) // brokers find out by themselves that we are gone
    await atMost(PATIENCE, () => Promise.all([...groups.values()].map((group) => group.close())))
    await atMost(LAST_WORD, post.idle)
    await atMost(LAST_WORD, () => transactions?.close())
    await atMost(PATIENCE, wire.close)
  }

  return {
    name: 'kafka',
    counts: wire.counts,
    can: {
      later: LONGEST,
      late,
      order: 'owner',
      lease: false,
      except: false,
      claims: false,
      patterns: false,
      fresh: true,
      urgent: false,
      unheard: 'kept',
    },
    publish: async (topic, events) => {
      alive()
      for (const event of events) checkEvent(event)
      if (events.length === 0) return
      await topics.ensure([source(topic)])
      await sendAll(events.map((event) => eventRecord(topic, event)))
    },
    subscribe: async ({ topic, consumerGroup: name, window, destinations, order, transactions: asked }) => {
      alive()
      if (topic.endsWith('*')) {
        throw new ReprieveError('bad_rules', `kafka: '${topic}' can't be subscribed to as a pattern`, {
          fix: 'declare each topic: a Kafka consumer group subscribes to topics by name',
        })
      }
      for (const { name: to, expire } of destinations) if (expire !== undefined) expiries.set(to, expire)
      const burial = destinations.map(({ name: to }) => destination(to))
      await ensureAll(name, [topic], burial)
      alive()
      if (asked) transactions ??= transactionsOf(wire)
      const group = serviceGroup(name)
      const atOnce = asked && transactions && { transactions }
      return openInlet({ wire, group, topic, window, byKey: order === 'key', post, topics, ...atOnce })
    },
    collect: async ({ name, expire, foreign = false }) => {
      alive()
      if (expire !== undefined) expiries.set(name, expire)
      await (foreign ? checkThere(name) : topics.ensure([destination(name)]))
      alive()
      const group = groupOfOffice(name, foreign)
      const window = OFFICE_WINDOW
      return openInlet({ wire, group, topic: name, window, post, topics, collects: true })
    },
    forward: async ({ topic, consumerGroup: name }, parcels) => {
      alive()
      if (!(await topics.exist([topic, ...retryTopics(name)]))) {
        throw new ReprieveError('unknown_subscription', `kafka: ${name} has no subscription to ${topic}`, {
          fix: 'subscribe first: its retry topics are created then',
        })
      }
      const now = tools.clock.now()
      await sendAll(parcels.map((parcel) => parcelRecord(retryTopic(name, parcel.due - now), topic, parcel)))
    },
    sendBack: async (messages) => {
      alive()
      return sendBack(messages, { topics, post, checkThere })
    },
    close: () => {
      closed ??= leave()
      return closed
    },
  }
}
