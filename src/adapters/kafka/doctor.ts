import type { Doctor, Needs } from '../../contracts/doctor.ts'
import { span } from '../../core/time.ts'
import { CHECKS, type Found, type NeededTopic } from './checks.ts'
import { loadClient } from './client.ts'
import { cluster, coordinators, creatable, reachable, receivable } from './doctor-cluster.ts'
import { examineForeign } from './doctor-foreign.ts'
import { hanging } from './doctor-hanging.ts'
import { rights, transactional } from './doctor-rights.ts'
import { examineTopics } from './doctor-topics.ts'
import { readUrl, type Settings } from './settings.ts'
import { officeGroup, retryTopics, TIERS } from './tiers.ts'
import { openWire, type Wire } from './wire.ts'

export const doctor: Doctor = {
  checks: CHECKS,
  examine: async (url, needs, tools) => {
    const settings = readUrl(url, process.env)
    const wire = await openWire(await loadClient(), settings, tools)
    try {
      const brokers = await reachable(wire)
      // whatever they lead can't be asked about: that they can't be reached says enough
      if (brokers.some(({ level }) => level === 'wrong')) return brokers
      const there = new Set(await wire.admin.listTopics())
      const receipts = receiptsOf(needs, there)
      const wanted = topicsWanted(needs, settings)
      const transacting = needs.subscriptions.some(({ to }) => to.transactions)
      const is = (topic: NeededTopic): boolean => there.has(topic.name)
      return [
        ...brokers,
        ...dropped(needs),
        ...(await cluster(wire, transacting)),
        ...(await coordinators(wire, groupsOf(needs, receipts))),
        ...(transacting ? await transactional(wire) : []),
        ...(await creatable(
          wire,
          wanted.filter((each) => !is(each)),
        )),
        ...(await receivable(wire, receipts)),
        ...(await rights(wire, wanted.filter(is))),
        ...(await examineTopics(wire, wanted.filter(is))),
        ...(await hanging(wire, wanted.filter(is))),
        ...(await examineForeign(wire, needs.foreign ?? [], there)),
      ]
    } finally {
      await closed(wire)
    }
  },
}

/** Of the services, and of the office, which has one for each place that it looks at. */
const groupsOf = (
  { subscriptions, foreign = [] }: Needs,
  receipts: readonly NeededTopic[],
): readonly string[] => {
  const destinations = subscriptions.flatMap(({ to }) => to.destinations)
  const offices = [...destinations, ...foreign, ...receipts].map(({ name }) => officeGroup(name))
  return [...new Set([...subscriptions.map(({ to }) => to.consumerGroup), ...offices])]
}

/** Its own is not told from those of other offices: where one is there, it may have been made for this one. */
const receiptsOf = (
  { subscriptions, receipts }: Needs,
  there: ReadonlySet<string>,
): readonly NeededTopic[] => {
  if (receipts === undefined || subscriptions.length === 0) return []
  const begins = receipts.slice(0, receipts.lastIndexOf('.') + 1)
  if ([...there].some((name) => name.startsWith(begins))) return []
  return [{ name: receipts, as: 'destination', partitions: 1, keep: 0, because: '' }]
}

/** By the rules themselves, whatever the topics are like. */
function* dropped({ subscriptions }: Needs): Generator<Found> {
  const told = new Set<string>()
  for (const { to, retention } of subscriptions) {
    for (const { name, expire } of to.destinations) {
      if (expire === undefined || expire >= retention || told.has(name)) continue
      told.add(name)
      yield {
        check: 'kafka-retention',
        level: 'risky',
        where: name,
        what: `the broker drops letters there after ${span(expire)}, and the rules keep them for ${span(retention)}`,
        why: 'a letter that no office takes over in that time is gone, with the event in it',
        fix: "make 'deadLetter.expire' as long as 'retention', or let an office run",
      }
    }
  }
}

const topicsWanted = ({ subscriptions }: Needs, { partitions }: Settings): readonly NeededTopic[] => {
  const wanted = new Map<string, NeededTopic>()
  const want = (topic: NeededTopic): void => {
    const known = wanted.get(topic.name)
    if (!known || known.keep < topic.keep) wanted.set(topic.name, topic)
  }
  for (const { to, retries, retention } of subscriptions) {
    const { topic: from } = to
    const because = `retries of ${to.service} may go on for`
    want({ name: from, as: 'source', partitions, keep: retries, because })
    retryTopics(to.consumerGroup).forEach((name, index) => {
      // a parcel lies there for a tier at least, and as long as its service is away
      const keep = Math.max(retries, TIERS[index]!.ms)
      want({ name, as: 'retry', partitions, keep, because, from })
    })
    for (const { name, expire } of to.destinations) {
      const keep = expire ?? retention
      const why =
        expire === undefined
          ? `the rules keep dead letters of ${to.service} for`
          : `'deadLetter.expire' of ${to.service} says`
      want({ name, as: 'destination', partitions: 1, keep, because: why, from })
    }
  }
  return [...wanted.values()]
}

/** A broker that never answered would keep us for as long as its connections time out. */
const closed = async (wire: Wire): Promise<void> => {
  const done = new AbortController()
  await Promise.race([wire.close().finally(() => done.abort()), wire.tools.clock.sleep(2000, done.signal)])
}
