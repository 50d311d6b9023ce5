import { CODE, responsesIn, unavailable } from './errors.ts'
import type { Outgoing } from './outgoing.ts'
import type { Topics } from './topics.ts'
import type { Wire } from './wire.ts'

export interface Post {
  /** Answers for each record: durable, or why not. Topics must exist. */
  send(records: readonly Outgoing[]): Promise<readonly (Error | undefined)[]>
  /** Until what was given to it has been answered. */
  idle(): Promise<void>
}

interface Letter {
  readonly record: Outgoing
  readonly partition: number
  readonly bytes: number
  done(error?: Error): void
}

/** A record batch may be no larger than the topic allows, which is 1 MB where the broker made the topic. */
const BATCH_BYTES = 900_000
const REQUEST_BYTES = 8 * 1024 * 1024

/**
 * One send at a time, each with all that has come in meanwhile: the idempotent producer numbers its records,
 * and sends that overtake each other after an error would make doubles.
 */
export const postOffice = ({ producer, client, settings, counts }: Wire, topics: Topics): Post => {
  let queue: Letter[] = []
  let running: Promise<void> | undefined
  const turns = new Map<string, number>()

  const partitionFor = ({ topic, key, partition }: Outgoing): number => {
    if (partition !== undefined) return partition
    const count = topics.partitions(topic)
    // As the Java client does it, so that one key has one partition whoever publishes.
    if (key && key.length > 0) return (client.murmur2(key) & 0x7fffffff) % count
    const turn = turns.get(topic) ?? 0
    turns.set(topic, turn + 1)
    return turn % count
  }

  /** As many as one request may carry, without splitting the order of a partition. */
  const nextLoad = (): readonly Letter[] => {
    const filled = new Map<string, number>()
    let total = 0
    let count = 0
    for (const letter of queue) {
      const place = `${letter.record.topic}/${letter.partition}`
      const before = filled.get(place) ?? 0
      const full = before > 0 && before + letter.bytes > BATCH_BYTES
      if (full || (total > 0 && total + letter.bytes > REQUEST_BYTES)) break
      filled.set(place, before + letter.bytes)
      total += letter.bytes
      count++
    }
    const load = queue.slice(0, count)
    queue = queue.slice(count)
    return load
  }

  const deliver = async (load: readonly Letter[]): Promise<void> => {
    counts.produces++
    try {
      await producer.send({
        messages: load.map(({ record: { topic, key, value, headers }, partition }) => ({
          topic,
          partition,
          headers,
          ...(key && { key }),
          ...(value !== null && { value }),
        })),
      })
      for (const letter of load) letter.done()
    } catch (error) {
      await sortOut(load, error)
    }
  }

  /** Some partitions may have taken theirs. What was too large together is tried by itself. */
  const sortOut = async (load: readonly Letter[], error: unknown): Promise<void> => {
    const codes = partitionCodes(error)
    const reason = unavailable(settings.brokers, 'producing', error)
    for (const [place, letters] of Map.groupBy(load, placeOf)) {
      const code = codes.get(place)
      if (code === 0) for (const letter of letters) letter.done()
      else if (letters.length > 1 && (code === CODE.tooLarge || code === CODE.recordListTooLarge)) {
        for (const letter of letters) await deliver([letter])
      } else {
        topics.forget(letters[0]!.record.topic)
        for (const letter of letters) letter.done(reason)
      }
    }
  }

  const run = async () => {
    while (queue.length > 0) await deliver(nextLoad())
    running = undefined
  }

  return {
    send: (records) =>
      new Promise((resolve) => {
        const answers: (Error | undefined)[] = new Array(records.length).fill(undefined)
        let left = records.length
        if (left === 0) return resolve(answers)
        records.forEach((record, i) => {
          const done = (error?: Error) => {
            answers[i] = error
            if (--left === 0) resolve(answers)
          }
          queue.push({ record, partition: partitionFor(record), bytes: sizeOf(record), done })
        })
        running ??= run()
      }),
    idle: async () => {
      while (running) await running
    },
  }
}

const placeOf = ({ record, partition }: Letter) => `${record.topic}/${partition}`

const sizeOf = ({ key, value, headers }: Outgoing): number => {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0) + 30
  for (const [name, text] of headers) bytes += name.length + text.length + 4
  return bytes
}

/** What the broker said of each partition. Where one of several tries was taken, it is taken. */
const partitionCodes = (error: unknown): ReadonlyMap<string, number> => {
  const codes = new Map<string, number>()
  interface Answer {
    readonly responses?: readonly {
      readonly name: string
      readonly partitionResponses: readonly { readonly index: number; readonly errorCode: number }[]
    }[]
  }
  for (const answer of responsesIn(error) as Answer[]) {
    for (const { name, partitionResponses } of answer.responses ?? []) {
      for (const { index, errorCode } of partitionResponses) {
        const place = `${name}/${index}`
        if (codes.get(place) !== 0) codes.set(place, errorCode === CODE.duplicateSequence ? 0 : errorCode)
      }
    }
  }
  const produced = (error as { produced?: { offsets?: { topic: string; partition: number }[] } }).produced
  for (const { topic, partition } of produced?.offsets ?? []) codes.set(`${topic}/${partition}`, 0)
  return codes
}
