import { systemClock } from '../../adapters/system/clock.ts'
import { systemDice } from '../../adapters/system/dice.ts'
import type { Tools } from '../../contracts/tools.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Event } from '../../core/event.ts'
import { type Line, linesOf } from './lines.ts'
import { readLine } from './read.ts'

/** How many are published together. */
const BATCH = 500

export interface Streamed {
  readonly published: number
  /** Absent: everything was published. */
  readonly stopped?: Stopped
}

/** Of lines that were published together and failed together, some may have been: to publish them again is safe. */
export interface Stopped {
  readonly line: number
  readonly through: number
  readonly because: string
  readonly fix?: string
}

export interface SoFar {
  readonly published: number
  /** All lines before this one are published. */
  readonly line: number
  /** Those from there to this one are being published. */
  readonly through: number
}

/** Publishes the events of the lines, in order, until the first that can't be. */
export const publishLines = async (
  input: AsyncIterable<Uint8Array>,
  publish: (events: readonly Event[]) => Promise<void>,
  tell: (soFar: SoFar) => void = () => {},
): Promise<Streamed> => {
  const tools: Tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
  let published = 0
  for await (const group of linesOf(input)) {
    const lines = group.filter(({ bytes }) => !isBlank(bytes))
    for (let i = 0; i < lines.length; i += BATCH) {
      const batch = lines.slice(i, i + BATCH)
      const { events, bad } = readBatch(batch, tools)
      try {
        tell({ published, line: batch[0]!.number, through: batch.at(-1)!.number })
        if (events.length > 0) await publish(events)
      } catch (error) {
        const through = batch[events.length - 1]!.number
        return { published, stopped: { line: batch[0]!.number, through, ...reasonOf(error) } }
      }
      published += events.length
      const next = batch.at(-1)!.number + 1
      tell({ published, line: next, through: next })
      if (bad) return { published, stopped: bad }
    }
  }
  return { published }
}

const isBlank = (bytes: Uint8Array): boolean =>
  bytes.every((byte) => byte === 32 || byte === 13 || byte === 9)

/** The events up to the first bad line. */
const readBatch = (lines: readonly Line[], tools: Tools) => {
  const events: Event[] = []
  for (const { number, bytes } of lines) {
    const read = readLine(bytes, tools)
    if ('wrong' in read) {
      const { wrong: because, fix } = read
      return { events, bad: { line: number, through: number, because, ...(fix !== undefined && { fix }) } }
    }
    events.push(read)
  }
  return { events, bad: undefined }
}

const reasonOf = (error: unknown): { because: string; fix?: string } => {
  if (!(error instanceof ReprieveError)) throw error
  const because = error.message.split('\n')[0]!
  return error.fix === undefined ? { because } : { because, fix: error.fix }
}
