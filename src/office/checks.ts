import type { Board } from '../contracts/board.ts'
import type { KeptOutline, KeptSendable, Letters } from '../contracts/letters.ts'
import { expiryOf } from '../core/expiry.ts'
import { whyStays } from '../core/found.ts'
import type { Operation, Skip } from '../core/operation.ts'
import type { Outline } from '../core/outline.ts'
import { matches } from '../core/pattern.ts'
import { redactedAt } from '../core/redact.ts'
import { currentEvent } from '../core/repair.ts'
import { reasonAgainst, reasonAgainstPurge, type Standing } from '../core/replay-check.ts'
import type { Instant } from '../core/time.ts'
import { type RuleBook, type Rules, rulesFor } from '../rules/index.ts'
import { createHand, type Hand } from './orders.ts'
import type { CheckFor } from './repairing.ts'

export interface Asked {
  readonly operation: Operation
  /** No approval is needed, or it was given. */
  readonly approved: boolean
}

/** What speaks against working on each of these letters, if anything. */
export type Check = (
  letters: readonly (KeptOutline | undefined)[],
  asked: Asked,
) => Promise<readonly (Skip | undefined)[]>

/** Looks once which breakers are open, for as many letters as are checked then. */
export const createChecks = (
  book: RuleBook,
  board: Board,
  now: () => Instant,
  letters: Pick<Letters, 'sendables'>,
  /** Schemas of handlers, where they are known here. */
  checkFor: CheckFor = () => undefined,
): (() => Promise<Check>) => {
  const hand = createHand(board, now)
  return async () => {
    const open = await openBreakers(hand, now())
    const rules = new Map<string, Rules>()
    let last: { readonly letter: Outline; readonly rules: Rules } | undefined
    const rulesOf = (letter: Outline): Rules => {
      if (last && isAlike(last.letter, letter)) return last.rules
      const { service, topic, event } = letter
      const name = JSON.stringify([service, topic, event.type])
      const known = rules.get(name) ?? rulesFor(book, service, event.type, topic)
      rules.set(name, known)
      last = { letter, rules: known }
      return known
    }
    const against = (kept: KeptOutline, inside: Inside, { operation, approved }: Asked): Skip | undefined => {
      const { letter, state } = kept
      if (operation.kind === 'purge') return reasonAgainstPurge({ state, approved }, operation)
      const own = rulesOf(letter)
      const automatic = own.deadLetter.reprocessing === 'automatic'
      return reasonAgainst(
        {
          ...inside,
          state,
          approved: approved || automatic,
          returns: operation.plan.to !== undefined || whyStays(letter) === undefined,
          expired: isExpired(letter, own, book, now()),
          healthy: !isDown(letter, own, open),
          generation: letter.trail.generation,
        },
        operation,
        book.operations.reentry,
      )
    }
    const needed = ({ letter }: KeptOutline, { operation }: Asked): boolean =>
      operation.kind === 'replay' &&
      (letter.redacted !== undefined || checkFor(letter.service, letter.event.type) !== undefined)
    const lookInside = async ({ letter, repair }: KeptSendable): Promise<Inside> => ({
      whole: redactedAt(letter, repair).length === 0,
      valid:
        (await checkFor(letter.service, letter.event.type)?.(currentEvent(letter, repair))) === undefined,
    })

    return async (some, asked) => {
      const within = some.filter((kept) => kept !== undefined && needed(kept, asked)) as KeptOutline[]
      const read = within.filter(isSendable)
      const unread = within.flatMap((kept) => (isSendable(kept) ? [] : [kept.letter.id]))
      if (unread.length > 0) read.push(...(await letters.sendables(unread)))
      const inside = new Map<string, Inside>()
      for (const kept of read) inside.set(kept.letter.id, await lookInside(kept))
      return some.map((kept) => {
        if (!kept) return reasonAgainst({ ...NOTHING, state: undefined }, asked.operation, 1)
        return against(kept, inside.get(kept.letter.id) ?? AS_IT_WAS, asked)
      })
    }
  }
}

const isAlike = (a: Outline, b: Outline): boolean =>
  a.service === b.service && a.topic === b.topic && a.event.type === b.event.type

/** One that was read with what its event carries was read with its newest version, too. */
const isSendable = (kept: KeptOutline): kept is KeptSendable => 'data' in kept.letter.event

/** What only the payload tells: nothing was taken out of it, and it fits its handler's schema. */
type Inside = Pick<Standing, 'whole' | 'valid'>
const AS_IT_WAS: Inside = { whole: true, valid: true }

const NOTHING = {
  ...{ state: undefined, whole: true, returns: true, approved: true, valid: true },
  ...{ expired: false, healthy: true, generation: 0 },
}

const isExpired = (
  { event, buriedAt }: Outline,
  { ttl }: Rules,
  { operations }: RuleBook,
  now: Instant,
): boolean =>
  (operations.ttl !== undefined && buriedAt + operations.ttl <= now) ||
  (expiryOf(event, ttl) ?? now + 1) <= now

const openBreakers = async (hand: Hand, now: Instant): Promise<readonly string[]> => {
  const lines = await hand.breakers()
  return lines
    .filter(({ whole, report, forced }) => {
      if (forced) return forced.to === 'open'
      // one whose time is over waits for a call that tries it: that may be one of these
      return whole ? whole.state === 'open' && (whole.until ?? now) >= now : report?.state === 'open'
    })
    .map(({ name }) => name)
}

/** By a dependency of its rules, or its handler's own breaker. */
const isDown = ({ service, event }: Outline, { dependencies }: Rules, open: readonly string[]): boolean =>
  open.some(
    (name) =>
      dependencies.some((dependency) => dependency.name === name) ||
      (name.startsWith(`${service}/`) && matches(name.slice(service.length + 1), event.type)),
  )
