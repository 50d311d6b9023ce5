import type { KeptLetter, Letters } from '../contracts/letters.ts'
import { expiryOf } from '../core/expiry.ts'
import { type Letter, type LetterState, letterId } from '../core/letter.ts'
import type { Instant } from '../core/time.ts'
import { type RuleBook, rulesFor } from '../rules/index.ts'

/** One life of an event in one service, which ended in a letter. */
export interface Life {
  readonly id: string
  /** 0 for the first life, one more with each replay. */
  readonly generation: number
  /** Absent: the letter is not kept any more. */
  readonly state?: LetterState
  readonly buriedAt?: Instant
}

export interface Lives {
  /** The first life first; the letter itself is one of them. */
  readonly lives: readonly Life[]
  /** When the event is no longer worth handling, where it or the rules say so. */
  readonly expires?: Instant
  /** When retention ends: then the letter is removed. */
  readonly keptUntil: Instant
}

const MOST = 100

/** Ids are made of the event and the life, so those before and after can be named without looking for them. */
export const livesOf = async (
  letters: Pick<Letters, 'find'>,
  { letter }: KeptLetter,
  book: RuleBook,
): Promise<Lives> => {
  const { service, topic, event, trail, buriedAt } = letter
  const idOf = (generation: number) => letterId(service, topic, event.id, generation)
  const first = Math.max(0, trail.generation - MOST)
  const before = Array.from({ length: trail.generation - first }, (_, i) => first + i)
  const own = idOf(trail.generation) === letter.id
  const after: number[] = []
  const found = new Map<string, KeptLetter>()
  const look = async (ids: readonly string[]) => {
    for (const each of await letters.find({ ids }, ids.length)) found.set(each.letter.id, each)
  }
  const known = new Map(before.map((generation) => [generation, own ? idOf(generation) : '']))
  if (trail.replay) known.set(trail.generation - 1, trail.replay.letter)
  await look([letter.id, ...known.values()].filter(Boolean))
  if (own) {
    for (let next = trail.generation + 1; after.length < MOST; next++) {
      await look([idOf(next)])
      if (!found.has(idOf(next))) break
      known.set(next, idOf(next))
      after.push(next)
    }
  }
  const life = (generation: number, id: string): Life => {
    const kept = found.get(id)
    return { id, generation, ...(kept && { state: kept.state, buriedAt: kept.letter.buriedAt }) }
  }
  const rules = rulesFor(book, service, event.type)
  const expires = expiryOf(event, rules.ttl)
  return {
    lives: [
      ...before.flatMap((generation) =>
        known.get(generation) ? [life(generation, known.get(generation)!)] : [],
      ),
      life(trail.generation, letter.id),
      ...after.map((generation) => life(generation, known.get(generation)!)),
    ],
    ...(expires !== undefined && { expires }),
    keptUntil: buriedAt + retentionOf(letter, book),
  }
}

export const retentionOf = ({ service, event }: Pick<Letter, 'service' | 'event'>, book: RuleBook) =>
  rulesFor(book, service, event.type).deadLetter.retention
