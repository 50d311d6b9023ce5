import type { KeptLetter, Letters } from '../contracts/letters.ts'
import { expiryOf } from '../core/expiry.ts'
import { type Letter, type LetterState, letterId } from '../core/letter.ts'
import type { Instant } from '../core/time.ts'
import { type RuleBook, rulesFor } from '../rules/index.ts'
import { replayParcel } from './replay.ts'

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

/**
 * A letter names the one its event was sent from, and what it sends is known to the byte: so the id of a later death can be
 * worked out, and nothing need be searched. Where one is not kept any more, what was beyond it can't be told.
 */
export const livesOf = async (
  letters: Pick<Letters, 'find'>,
  given: KeptLetter,
  book: RuleBook,
): Promise<Lives> => {
  const { letter } = given
  const { service, event, buriedAt } = letter
  const seen = new Set<string>()
  const look = async (id: string): Promise<KeptLetter | undefined> => {
    seen.add(id)
    return (await letters.find({ ids: [id] }, 1))[0]
  }
  // it may have been repaired and sent since it was read
  const kept = (await look(letter.id)) ?? given
  const before: Life[] = []
  let { replay, generation } = letter.trail
  // anybody may have written a trail: one that goes round has an end, too
  while (replay && generation > 0 && before.length < MOST && !seen.has(replay.letter)) {
    generation--
    const earlier = await look(replay.letter)
    before.unshift(lifeOf(replay.letter, generation, earlier))
    replay = earlier?.letter.trail.replay
  }
  const after: Life[] = []
  let last: KeptLetter | undefined = kept
  while (last && after.length < MOST) {
    const id = nextId(last)
    last = await look(id)
    if (last) after.push(lifeOf(id, letter.trail.generation + after.length + 1, last))
  }
  const rules = rulesFor(book, service, event.type)
  const expires = expiryOf(event, rules.ttl)
  return {
    lives: [...before, lifeOf(letter.id, letter.trail.generation, kept), ...after],
    ...(expires !== undefined && { expires }),
    keptUntil: buriedAt + retentionOf(letter, book),
  }
}

const lifeOf = (id: string, generation: number, kept: KeptLetter | undefined): Life => ({
  ...{ id, generation },
  ...(kept && { state: kept.state, buriedAt: kept.letter.buriedAt }),
})

/** Under which id the event is buried again where its replay dies. */
const nextId = ({ letter, repair }: KeptLetter): string => {
  const { service, topic } = letter
  const { event, trail } = replayParcel({ letter, ...(repair && { repair }) }, '', 0)
  return letterId(service, topic, event, trail)
}

export const retentionOf = ({ service, event }: Pick<Letter, 'service' | 'event'>, book: RuleBook) =>
  rulesFor(book, service, event.type).deadLetter.retention
