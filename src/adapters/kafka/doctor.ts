import type { Doctor, Needs } from '../../contracts/doctor.ts'
import { CHECKS, type NeededTopic } from './checks.ts'
import { loadClient } from './client.ts'
import { cluster, coordinators, creatable, reachable } from './doctor-cluster.ts'
import { examineForeign } from './doctor-foreign.ts'
import { hanging } from './doctor-hanging.ts'
import { rights, transactional } from './doctor-rights.ts'
import { examineTopics } from './doctor-topics.ts'
import { readUrl, type Settings } from './settings.ts'
import { retryTopics, TIERS } from './tiers.ts'
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
      const wanted = topicsWanted(needs, settings)
      const transacting = needs.subscriptions.some(({ to }) => to.transactions)
      const there = new Set(await wire.admin.listTopics())
      const is = (topic: NeededTopic): boolean => there.has(topic.name)
      return [
        ...brokers,
        ...(await cluster(wire, transacting)),
        ...(await coordinators(wire, groupsOf(needs))),
        ...(transacting ? await transactional(wire) : []),
        ...(await creatable(
          wire,
          wanted.filter((each) => !is(each)),
        )),
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

const groupsOf = ({ subscriptions }: Needs): readonly string[] => [
  ...new Set(subscriptions.map(({ to }) => to.consumerGroup)),
]

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
      const why = `the rules keep dead letters of ${to.service} for`
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
