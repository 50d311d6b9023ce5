import { ReprieveError } from '../../core/error.ts'
import { CODE, errorOf, isOfTopic, unavailable } from './errors.ts'
import { type Place, placeOf } from './offsets.ts'
import { BATCH_BYTES, type Outgoing, REQUEST_BYTES } from './outgoing.ts'
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

/** What one caller gave, and its answer. */
interface Consignment {
  readonly records: readonly Outgoing[]
  readonly answers: (Error | undefined)[]
  /** How many of its records have been taken, and how many answers are still out. */
  taken: number
  left: number
  resolve(answers: readonly (Error | undefined)[]): void
}

/** The records of one request, in the order of their consignments. */
type Load = readonly { readonly of: Consignment; readonly from: number; readonly to: number }[]

/** For one load, its tries included. */
const DELIVERY = 30_000
/** A reason of our own: without one each abort makes an error with a stack. */
const ANSWERED = 'answered'

/**
 * One send at a time, each with all that has come in meanwhile: records are numbered, and sends that overtake
 * each other after an error would make doubles.
 */
export const postOffice = (wire: Wire, topics: Topics): Post => {
  const { client, settings, counts, tools } = wire
  const produce = produceBy(wire)
  const queue: Consignment[] = []
  const turns = new Map<string, number>()
  let running: Promise<void> | undefined
  let stuck: Error | undefined

  const address = (record: Outgoing) => {
    if (record.partition !== undefined) return
    const { topic, key } = record
    const count = topics.partitions(topic)
    // As the Java client does it, so that one key has one partition whoever publishes.
    if (key && key.length > 0) record.partition = (client.murmur2(key) & 0x7fffffff) % count
    else {
      const turn = turns.get(topic) ?? 0
      turns.set(topic, turn + 1)
      record.partition = turn % count
    }
  }

  const deliver = async (load: Load): Promise<void> => {
    counts.produces++
    const outcomes = await produce.send(recordsOf(load))
    if (outcomes) await sortOut(load, outcomes)
    else for (const { of, from, to } of load) answered(of, to - from)
  }

  /** Some partitions may have taken theirs. What was too large together, or beside a topic that is gone, is tried by itself. */
  const sortOut = async (load: Load, outcomes: Outcomes): Promise<void> => {
    const singles = load.flatMap(({ of, from, to }) =>
      Array.from({ length: to - from }, (_, n) => ({ of, from: from + n, to: from + n + 1 })),
    )
    const loads = Map.groupBy(singles, ({ of, from }) => of.records[from]!.topic)
    // nobody was asked: one of the topics, and it is not said which
    if (loads.size > 1 && [...outcomes.values()].every((each) => each instanceof Error && isOfTopic(each))) {
      for (const ofTopic of loads.values()) await deliver(ofTopic)
      return
    }
    const placed = Map.groupBy(singles, ({ of, from }) => placeOf(of.records[from] as Place))
    for (const [place, letters] of placed) {
      const outcome = outcomes.get(place)!
      const isTooLarge = outcome === CODE.tooLarge || outcome === CODE.recordListTooLarge
      const error = typeof outcome === 'number' ? errorOf(client, outcome) : outcome
      const reason = unavailable(settings.brokers, 'producing', error)
      for (const letter of letters) {
        if (outcome === 0) answered(letter.of, 1)
        else if (isTooLarge && letters.length > 1) await deliver([letter])
        else {
          if (!isTooLarge) topics.forget(letter.of.records[letter.from]!.topic)
          const record = letter.of.records[letter.from]!
          letter.of.answers[letter.from] = isTooLarge ? tooLarge(record, reason) : reason
          answered(letter.of, 1)
        }
      }
    }
  }

  /** Nobody waits for ever: the next send has to, until this one has its answer. */
  const giveUp = (load: Load) => {
    const late = new Error(`no answer within ${DELIVERY} ms`)
    stuck = unavailable(settings.brokers, 'producing', late)
    for (const { of } of load) refuse(of, stuck)
    for (const each of queue.splice(0)) refuse(each, stuck)
  }
  const run = async () => {
    while (queue.length > 0) {
      const load = nextLoad(queue)
      const done = new AbortController()
      void tools.clock.sleep(DELIVERY, done.signal).then(() => done.signal.aborted || giveUp(load))
      await deliver(load)
      done.abort(ANSWERED)
      stuck = undefined
    }
    running = undefined
  }

  return {
    send: (records) =>
      new Promise((resolve) => {
        const answers: (Error | undefined)[] = new Array(records.length).fill(undefined)
        if (records.length === 0) return resolve(answers)
        if (stuck) return resolve(answers.fill(stuck))
        for (const record of records) address(record)
        queue.push({ records, answers, taken: 0, left: records.length, resolve })
        running ??= run()
      }),
    address: (records) => records.forEach(address),
    idle: async () => {
      while (running) await running
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

/** Its answers are given; those that still come are for nobody. */
const refuse = (consignment: Consignment, reason: Error) => {
  consignment.resolve(consignment.answers.map((answer) => answer ?? reason))
}

const answered = (consignment: Consignment, count: number) => {
  consignment.left -= count
  if (consignment.left === 0) consignment.resolve(consignment.answers)
}

const recordsOf = (load: Load): readonly Outgoing[] =>
  load.length === 1 && load[0]!.from === 0 && load[0]!.to === load[0]!.of.records.length
    ? load[0]!.of.records
    : load.flatMap(({ of, from, to }) => of.records.slice(from, to))

/** Takes as many as one request may carry, without splitting the order of a partition. */
const nextLoad = (queue: Consignment[]): Load => {
  const load: { of: Consignment; from: number; to: number }[] = []
  const filled = new Map<string, number[]>()
  let total = 0
  const fits = ({ topic, partition = 0, bytes }: Outgoing): boolean => {
    let places = filled.get(topic)
    if (!places) {
      places = []
      filled.set(topic, places)
    }
    const before = places[partition] ?? 0
    if (before > 0 && before + bytes > BATCH_BYTES) return false
    if (total > 0 && total + bytes > REQUEST_BYTES) return false
    places[partition] = before + bytes
    total += bytes
    return true
  }
  while (queue.length > 0) {
    const of = queue[0]!
    const from = of.taken
    while (of.taken < of.records.length && fits(of.records[of.taken]!)) of.taken++
    if (of.taken > from) load.push({ of, from, to: of.taken })
    if (of.taken < of.records.length) break
    queue.shift()
  }
  return load
}
