import type { Priority } from '../core/event.ts'
import type { RuleBook } from './book.ts'
import { DEFAULTS } from './builtin.ts'
import { levelsOf, type Picker, picker, serviceLevels } from './levels.ts'
import { present } from './present.ts'
import type { Batch, Batcher } from './rules.ts'
import type { WrittenRules } from './schema.ts'

/** In place of a batcher's name: events one by one, whatever levels behind it say. */
export const NO_BATCH = 'off'

/** The batchers of a service: its own over those of `defaults`, value by value. */
export const batchersOf = (book: RuleBook, service: string): ReadonlyMap<string, Batcher> => {
  const found = new Map<string, Batcher>()
  for (const { says } of serviceLevels(book, service).toReversed()) {
    for (const [name, own] of Object.entries(says.batchers ?? {})) {
      found.set(name, { ...(found.get(name) ?? DEFAULTS.batch), ...present(own), name })
    }
  }
  return found
}

/** A batcher that takes the event's priority comes first; else what the nearest level says. */
export const resolveBatch = (
  { pick }: Picker<WrittenRules>,
  batchers: () => ReadonlyMap<string, Batcher>,
  priority: Priority | undefined,
): Batch | undefined => {
  const nearest = pick('batch', (says) => says.batch)
  if (nearest === NO_BATCH) return undefined
  const fast = priority && [...batchers().values()].find(({ priorities }) => priorities?.includes(priority))
  if (fast) return batchOf(fast)
  if (nearest === undefined) return undefined
  if (typeof nearest === 'string') return batchOf(batchers().get(nearest)!)
  const own = <K extends keyof typeof DEFAULTS.batch>(key: K): Batch[K] =>
    pick(
      `batch.${key}`,
      ({ batch }) => (typeof batch === 'object' ? (batch[key] as Batch[K]) : undefined),
      DEFAULTS.batch[key] as Batch[K],
    )
  return { size: own('size'), timeout: own('timeout'), concurrency: own('concurrency'), by: own('by') }
}

/**
 * For a batch handler: what holds for an event of that priority. Where the book says nothing of batches they are as
 * built in; where it says off they hold one event each.
 */
export const batchFor = (
  book: RuleBook,
  service: string,
  event: string,
  priority: Priority | undefined,
): Batch => {
  const from = picker(book, levelsOf(book, service, event), false)
  const found = resolveBatch(from, () => batchersOf(book, service), priority)
  if (found) return found
  const isOff = from.pick('batch', (says) => says.batch) === NO_BATCH
  return isOff ? { ...DEFAULTS.batch, size: 1 } : DEFAULTS.batch
}

const batchOf = ({ priorities: _, ...batch }: Batcher): Batch => batch
