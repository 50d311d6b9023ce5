import { ReprieveError } from '../../core/error.ts'
import { CODE, errorOf, isOfTopic, unavailable } from './errors.ts'
import {
  answer,
  type Consignment,
  consign,
  type Load,
  nextLoad,
  type Piece,
  recordsOf,
  unanswered,
} from './loads.ts'
import { type Place, placeOf } from './offsets.ts'
import type { Outgoing } from './outgoing.ts'
import { type Outcomes, produceBy } from './produce.ts'
import type { Topics } from './topics.ts'
import type { Wire } from './wire.ts'

export interface Post {
  /** Answers for each record: durable, or why not. Topics must exist. */
  send(records: readonly Outgoing[]): Promise<readonly (Error | undefined)[]>
  /** Gives each its partition, by key or in turn, where it has none. */
  address(records: readonly Outgoing[]): void
  /** Until what was given to it has been answered. */
  idle(): Promise<void>
}

/** For one load, its tries included. */
const DELIVERY = 30_000
/** Then the next load goes, without the partitions that this one still waits for. */
const SLOW = 500
/** A reason of our own: without one each abort makes an error with a stack. */
const ANSWERED = 'answered'

/**
 * One send at a time, each with all that has come in meanwhile: records are numbered, and sends that overtake
 * each other after an error would make doubles. Only a partition whose leader is slow is waited for by itself.
 */
export const postOffice = (wire: Wire, topics: Topics): Post => {
  const { client, settings, counts, tools } = wire
  const produce = produceBy(wire)
  let queue: Piece[] = []
  const turns = new Map<string, number>()
  let busy = false
  let running: Promise<void> | undefined
  /** Places that are still waited for; an error: for so long that nothing more is taken for them. */
  const held = new Map<string, Error | undefined>()
  /** What waits for them. */
  let aside: Piece[] = []
  const slow = new Set<Promise<void>>()

  const address = (record: Outgoing) => {
    if (record.partition !== undefined) return
    const { topic, key } = record
    // As the Java client does it, so that one key has one partition whoever publishes.
    if (key) record.partition = (client.murmur2(key) & 0x7fffffff) % topics.partitions(topic)
    else {
      const turn = turns.get(topic) ?? 0
      turns.set(topic, turn + 1)
      const led = topics.led(topic)
      record.partition = led[turn % led.length] ?? turn % topics.partitions(topic)
    }
  }

  const deliver = async (load: Load, durable?: Set<string>): Promise<void> => {
    counts.produces++
    const outcomes = await produce.send(recordsOf(load), durable)
    if (outcomes) await sortOut(load, outcomes)
    else for (const { of, from, to } of load) for (let at = from; at < to; at++) answer(of, at)
  }

  /** Some partitions may have taken theirs. What was too large together, or beside a topic that is gone, is tried by itself. */
  const sortOut = async (load: Load, outcomes: Outcomes): Promise<void> => {
    const singles = unanswered(load)
    const loads = Map.groupBy(singles, ({ of, from }) => of.records[from]!.topic)
    // nobody was asked: one of the topics, and it is not said which
    if (loads.size > 1 && [...outcomes.values()].every((each) => each instanceof Error && isOfTopic(each))) {
      for (const ofTopic of loads.values()) await deliver(ofTopic)
      return
    }
    for (const [place, letters] of Map.groupBy(singles, placeIn)) {
      const outcome = outcomes.get(place)!
      const isTooLarge = outcome === CODE.tooLarge || outcome === CODE.recordListTooLarge
      const error = typeof outcome === 'number' ? errorOf(client, outcome) : outcome
      const reason = unavailable(settings.brokers, 'producing', error)
      for (const letter of letters) {
        const { of, from } = letter
        const record = of.records[from]!
        if (outcome === 0) answer(of, from)
        else if (isTooLarge && letters.length > 1) await deliver([letter])
        else {
          if (!isTooLarge) topics.forget(record.topic)
          answer(of, from, isTooLarge ? tooLarge(record, reason) : reason)
        }
      }
    }
  }

  /** What is durable is answered; the rest goes on by itself, and nothing else is sent to its partitions meanwhile. */
  const putAside = (load: Load, durable: ReadonlySet<string>, work: Promise<void>) => {
    const rest = unanswered(load).filter((piece) => {
      const isDurable = durable.has(placeIn(piece))
      if (isDurable) answer(piece.of, piece.from)
      return !isDurable
    })
    const places = new Set(rest.map(placeIn))
    for (const place of places) held.set(place, undefined)
    const done = new AbortController()
    const end = work.then(() => {
      done.abort(ANSWERED)
      for (const place of places) held.delete(place)
      slow.delete(end)
      resume()
    })
    slow.add(end)
    void tools.clock.sleep(DELIVERY - SLOW, done.signal).then(() => {
      if (!done.signal.aborted) giveUp(rest, places)
    })
  }
  /** Nobody waits for ever: whatever is for the same partitions has to, until this has its answer. */
  const giveUp = (rest: readonly Piece[], places: ReadonlySet<string>) => {
    const late = new Error(`no answer within ${DELIVERY} ms`)
    const stuck = unavailable(settings.brokers, 'producing', late)
    for (const place of places) held.set(place, stuck)
    for (const { of, from } of rest) answer(of, from, stuck)
    resume()
  }
  /** Where its partition is still waited for it waits too, or is refused. */
  const hold = (of: Consignment, at: number): boolean => {
    if (held.size === 0) return false
    const piece = { of, from: at, to: at + 1 }
    const place = placeIn(piece)
    const stuck = held.get(place)
    if (stuck) answer(of, at, stuck)
    else if (held.has(place)) aside.push(piece)
    else return false
    return true
  }
  /** What was put aside came before all that waits now. */
  const resume = () => {
    queue = [...aside, ...queue]
    aside = []
    start()
  }
  const start = () => {
    if (!busy) running = run()
  }
  const run = async () => {
    busy = true
    while (queue.length > 0) {
      const load = nextLoad(queue, hold)
      if (load.length === 0) continue
      const done = new AbortController()
      const durable = new Set<string>()
      const work = deliver(load, durable).finally(() => done.abort(ANSWERED))
      await tools.clock.sleep(SLOW, done.signal)
      if (!done.signal.aborted) putAside(load, durable, work)
    }
    busy = false
  }

  return {
    send: (records) =>
      new Promise((resolve) => {
        if (records.length === 0) return resolve([])
        for (const record of records) address(record)
        queue.push({ of: consign(records, resolve), from: 0, to: records.length })
        start()
      }),
    address: (records) => records.forEach(address),
    idle: async () => {
      while (busy || slow.size > 0) await Promise.all([running, ...slow])
    },
  }
}

export const tooLarge = ({ topic, bytes }: Outgoing, cause: Error): ReprieveError =>
  new ReprieveError(
    'bad_event',
    `kafka: a record of ${bytes} bytes is larger than the topic ${topic} takes`,
    {
      cause,
      fix: `raise max.message.bytes of ${topic}, or keep the data elsewhere and let the event name it`,
    },
  )

const placeIn = ({ of, from }: Piece): string => placeOf(of.records[from] as Place)
