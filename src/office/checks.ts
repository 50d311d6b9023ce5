import type { Board } from '../contracts/board.ts'
import type { KeptLetter } from '../contracts/letters.ts'
import type { Event } from '../core/event.ts'
import { expiryOf } from '../core/expiry.ts'
import { whyStays } from '../core/found.ts'
import type { Letter } from '../core/letter.ts'
import type { Operation, Skip } from '../core/operation.ts'
import { matches } from '../core/pattern.ts'
import { redactedAt } from '../core/redact.ts'
import { currentEvent } from '../core/repair.ts'
import { reasonAgainst, reasonAgainstPurge } from '../core/replay-check.ts'
import type { Instant } from '../core/time.ts'
import { type RuleBook, type Rules, rulesFor } from '../rules/index.ts'
import { createHand, type Hand } from './orders.ts'
import type { CheckFor } from './repairing.ts'

export interface Asked {
  readonly operation: Operation
  /** No approval is needed, or it was given. */
  readonly approved: boolean
}

/** What speaks against working on a letter. */
export type Check = (kept: KeptLetter | undefined, asked: Asked) => Promise<Skip | undefined>

/** Looks once which breakers are open, for as many letters as are checked then. */
export const createChecks = (
  book: RuleBook,
  board: Board,
  now: () => Instant,
  /** Schemas of handlers, where they are known here. */
  checkFor: CheckFor = () => undefined,
): (() => Promise<Check>) => {
  const hand = createHand(board, now)
  const fits = async ({ service }: Letter, event: Event): Promise<boolean> => {
    const check = checkFor(service, event.type)
    return check === undefined || (await check(event)) === undefined
  }
  return async () => {
    const open = await openBreakers(hand, now())
    const rules = new Map<string, Rules>()
    const rulesOf = ({ service, topic, event: { type } }: Letter): Rules => {
      const name = JSON.stringify([service, topic, type])
      const known = rules.get(name) ?? rulesFor(book, service, type, topic)
      rules.set(name, known)
      return known
    }
    return async (kept, { operation, approved }) => {
      const state = kept?.state
      if (!kept) return reasonAgainst({ ...NOTHING, state }, operation, 1)
      const { letter, repair } = kept
      if (operation.kind === 'purge') return reasonAgainstPurge({ state, approved }, operation)
      const own = rulesOf(letter)
      const automatic = own.deadLetter.reprocessing === 'automatic'
      return reasonAgainst(
        {
          state,
          approved: approved || automatic,
          whole: redactedAt(letter, repair).length === 0,
          returns: operation.plan.to !== undefined || whyStays(letter) === undefined,
          valid: await fits(letter, currentEvent(letter, repair)),
          expired: isExpired(letter, own, book, now()),
          healthy: !isDown(letter, own, open),
          generation: letter.trail.generation,
        },
        operation,
        book.operations.reentry,
      )
    }
  }
}

const NOTHING = {
  ...{ state: undefined, whole: true, returns: true, approved: true, valid: true },
  ...{ expired: false, healthy: true, generation: 0 },
}

const isExpired = (
  { event, buriedAt }: Letter,
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
const isDown = ({ service, event }: Letter, { dependencies }: Rules, open: readonly string[]): boolean =>
  open.some(
    (name) =>
      dependencies.some((dependency) => dependency.name === name) ||
      (name.startsWith(`${service}/`) && matches(name.slice(service.length + 1), event.type)),
  )
