import { Transient } from '../../core/errors.ts'
import { type BatchEntry, type BatchHandler, wentOf } from '../../runtime/batch-handler.ts'
import type { Plant } from './plant.ts'

/** What the handler answers is taken for something else. */
const taking =
  (change: (entries: readonly BatchEntry[]) => readonly BatchEntry[]) =>
  <Data>(handler: BatchHandler<Data>): BatchHandler<Data> =>
  async (events, ctx) => {
    const reply = await handler(events, ctx)
    const went = wentOf(reply, events.length, 'planted')
    return change(went.map((each) => ('error' in each ? (each.error as Error) : each.reply)))
  }

/** Bugs in what is made of a batch handler's answer. */
export const BATCH_BUGS: readonly Plant[] = [
  {
    name: 'one fails all',
    what: 'where one of a batch fails, all of it is taken for failed',
    breaks: ['I1', 'I3'],
    batch: taking((entries) =>
      entries.some((entry) => entry instanceof Error)
        ? entries.map(() => new Transient('one of them failed'))
        : entries,
    ),
  },
  {
    name: 'batch done as a whole',
    what: 'a batch is acknowledged as a whole, though some of it failed',
    breaks: ['I2'],
    batch: taking((entries) => entries.map(() => undefined)),
  },
  {
    name: 'answers shifted',
    what: 'each event of a batch is given the answer of its neighbour',
    breaks: ['I1', 'I2', 'I3'],
    batch: taking((entries) => [...entries.slice(1), ...entries.slice(0, 1)]),
  },
]
