import type { LetterState, Letters } from '../contracts/letters.ts'
import type { ItemMark, KeptOperation, Operations } from '../contracts/operations.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Transport } from '../contracts/transport.ts'
import type { ActName, ActOnLetters } from '../core/acts.ts'
import type { Details } from '../core/audit.ts'
import { ReprieveError } from '../core/error.ts'
import type { Operation } from '../core/operation.ts'
import { purgeableFrom, sendableFrom } from '../core/replay-check.ts'
import type { Instant } from '../core/time.ts'
import { type RuleBook, serviceRules } from '../rules/index.ts'
import type { createChecks } from './checks.ts'
import { type Chosen, createChoosing, type Leaving, NONE } from './choosing.ts'
import type { DeadKeys } from './dead-keys.ts'
import { type Way, waysOf } from './send-letters.ts'

export interface Sending {
  readonly operations: Operations
  readonly letters: Letters
  readonly transport: Transport
  readonly receiptTo: string
  readonly tools: Tools
  readonly book: RuleBook
  readonly checks: ReturnType<typeof createChecks>
  readonly deadKeys: DeadKeys
}

/** What was sent one way, and whether it is at an end by that. */
interface Gone {
  readonly leaving: readonly Leaving[]
  readonly ends: boolean
}

/** So many batches go together at most, as long as that takes no longer than a glance: whoever pauses it expects it to stop. */
const WIDEST = 16
const GLANCE = 100

/** What waits behind letters in these states is held. */
const HOLDING: readonly LetterState[] = ['open', 'quarantined']

/** What no second try mends: the letter goes nowhere, whoever sends it. */
const HOPELESS: ReadonlySet<string> = new Set([
  'unknown_subscription',
  'unknown_destination',
  'unheard',
  'bad_event',
])

/** The steps of an operation that act. Each marks first, so that whoever comes after knows what may have been done. */
export const createSending = (means: Sending) => {
  const { operations, letters, transport, receiptTo, tools, book, checks, deadKeys } = means
  const { clock, journal } = tools
  const { choose, reach, forget, lettersAsFrozen } = createChoosing(operations, letters, checks, clock)

  const actOf = (operation: Operation, act: ActName, more: Details = {}): ActOnLetters => {
    const { by, reason, chosen, id, hash, plan } = operation
    return {
      at: clock.now(),
      who: by,
      act,
      ...(reason !== undefined && { reason }),
      details: {
        filter: chosen,
        operation: id,
        ...(hash !== undefined && { set: hash }),
        ...(plan.although.length > 0 && { although: plan.although }),
        ...(plan.to !== undefined && { to: plan.to }),
        ...more,
      },
    }
  }

  /** Marked before they are sent; undefined: somebody paused, cancelled or took it over, and nothing is to be sent. */
  const begin = async (kept: KeptOperation, chosen: Chosen): Promise<readonly Leaving[] | undefined> => {
    const { operation, version } = kept
    const { skips, leaving, at } = chosen
    const from = sendableFrom(operation)
    const marks = leaving.map(
      ({ item: { place, letter: id } }): ItemMark => ({
        place,
        from: ['waiting'],
        to: 'sending',
        at,
        letter: { id, from, to: 'replaying' },
      }),
    )
    const [skipped, marked] = await Promise.all([
      skips.length > 0 ? operations.mark(operation.id, version, skips) : [],
      marks.length > 0 ? operations.mark(operation.id, version, marks, actOf(operation, 'replay')) : [],
    ])
    if (!skipped || !marked) return undefined
    reach(kept, chosen)
    return leaving.filter((_, i) => marked[i])
  }

  /** One batch. */
  const replay = async (kept: KeptOperation, most: number, strict: boolean): Promise<void> => {
    const leaving = await begin(kept, await choose(kept, most))
    if (leaving) await leave(kept.operation, leaving, strict)
  }

  /**
   * Step after step until none is left, somebody else is at it, or the time is over. One is looked up, the one before it
   * marked, the one before that sent and the one before that told as sent, all in the same turn: where the transport is the
   * store what is written is one commit, and another server works while we do. The first step is one batch, the next are some
   * batches together, for nobody asked for a rate.
   */
  const stream = async (kept: KeptOperation, until: Instant, strict: boolean, signal?: AbortSignal) => {
    const { operation } = kept
    const { batch } = operation.plan
    let wide = 2
    const lookAhead = ({ last }: Chosen): Promise<Chosen> => {
      const looking = last === undefined ? Promise.resolve(NONE) : choose(kept, batch * wide, last)
      looking.catch(() => {}) // it is told when its turn comes
      return looking
    }
    let chosen = await choose(kept, batch)
    let ahead = lookAhead(chosen)
    let untold: readonly Gone[] = []
    try {
      let leaving = await begin(kept, chosen)
      while (leaving && chosen.last !== undefined) {
        const began = clock.now()
        const enough = signal?.aborted || began >= until
        const next: Chosen = enough ? NONE : await ahead
        if (!enough) ahead = lookAhead(next)
        const before = untold
        untold = []
        const [marking, , going] = await Promise.allSettled([
          begin(kept, next),
          tell(operation, before),
          go(operation, leaving, strict),
        ])
        if (going.status === 'fulfilled') untold = going.value
        else {
          const marked = marking.status === 'fulfilled' ? marking.value : undefined
          if (marked) await undo(operation, marked, undefined)
          throw going.reason
        }
        if (marking.status === 'rejected') throw marking.reason
        leaving = marking.value
        chosen = next
        wide = clock.now() - began < GLANCE ? Math.min(wide * 2, WIDEST) : Math.max(1, wide / 2)
      }
    } finally {
      await Promise.allSettled([ahead])
      await tell(operation, untold)
    }
  }

  /** What was marked by someone who died: it may be on its way, and goes again, with an entry that says so. */
  const again = async ({ operation, version }: KeptOperation, strict: boolean): Promise<boolean> => {
    for (let after: number | undefined; ; ) {
      const items = await operations.items(operation.id, ['sending'], operation.plan.batch, after)
      if (items.length === 0) return true
      after = items.at(-1)!.place
      const found = await lettersAsFrozen(items)
      const at = clock.now()
      const marks = items.map(
        ({ place }): ItemMark => ({
          place,
          from: ['sending'],
          to: 'sending',
          because: 'sent again',
          at,
          letter: { from: ['replaying'], to: 'replaying' },
        }),
      )
      const marked = await operations.mark(operation.id, version, marks, actOf(operation, 'replay again'))
      if (!marked) return false
      await leave(
        operation,
        items.flatMap((item, i) => (marked[i] ? [{ item, kept: found.get(item.letter)! }] : [])),
        strict,
      )
      // those that came back meanwhile are at an end already; of the others somebody took the letter
      const gone = items.filter((_, i) => !marked[i])
      await operations.mark(
        operation.id,
        undefined,
        gone.map(({ place }) => ({ place, from: ['sending'], to: 'failed', because: 'unknown letter', at })),
      )
    }
  }

  const leave = async (operation: Operation, all: readonly Leaving[], strict: boolean): Promise<void> =>
    tell(operation, await go(operation, all, strict))

  /** Sends them, and answers with those that are on their way by that: to be told of. */
  const go = async (
    operation: Operation,
    all: readonly Leaving[],
    strict: boolean,
  ): Promise<readonly Gone[]> => {
    const items = new Map(all.map(({ item, kept }) => [kept.letter.id, item]))
    const ways = waysOf(
      all.map(({ kept }) => kept),
      { transport, receiptTo, at: clock.now(), operation, groupOf },
    )
    const leaving = ({ letters: some }: Way) =>
      some.map((kept) => ({ kept, item: items.get(kept.letter.id)! }))
    const gone: Gone[] = []
    for (const [n, way] of ways.entries()) {
      const answers = await way.go()
      const some = leaving(way)
      gone.push({ leaving: some.filter((_, i) => !answers[i]), ends: way.ends })
      const refused = some.flatMap((each, i) => (answers[i] ? [{ each, error: answers[i] }] : []))
      const stay = Map.groupBy(refused, ({ error }) => (strict ? undefined : hopelessness(error)))
      for (const [word, those] of stay)
        if (word !== undefined)
          await undo(
            operation,
            those.map(({ each }) => each),
            word,
          )
      const hopeful = stay.get(undefined)
      if (!hopeful) continue
      await undo(
        operation,
        [...hopeful.map(({ each }) => each), ...ways.slice(n + 1).flatMap(leaving)],
        undefined,
      )
      await tell(operation, gone)
      throw hopeful[0]!.error
    }
    return gone
  }

  const tell = async (operation: Operation, gone: readonly Gone[]): Promise<void> => {
    const told = [false, true].map(async (ends) => {
      const some = gone.filter((way) => way.ends === ends).flatMap(({ leaving }) => leaving)
      // in the order of work, whichever way they went: so they lie together
      if (some.length > 0) await sent(operation, some.toSorted(byPlace), ends)
    })
    await Promise.all(told)
  }

  const groupOf = (service: string): string => serviceRules(book, service).consumerGroup

  const sent = async ({ id }: Operation, leaving: readonly Leaving[], ends: boolean): Promise<void> => {
    const at = clock.now()
    await operations.mark(
      id,
      undefined,
      leaving.map(({ item: { place } }) => ({
        place,
        from: ['sending'],
        to: ends ? 'resolved' : 'sent',
        ...(ends && { because: 'no receipts', letter: { from: ['replaying'], to: 'resolved' } }),
        at,
      })),
    )
    for (const { kept } of leaving) {
      journal({ at, is: 'replayed', letter: kept.letter.id, service: kept.letter.service })
    }
  }

  /** None of them is known to be on its way: offered again, and dedup keeps doubles single. */
  const undo = async (operation: Operation, leaving: readonly Leaving[], failed: string | undefined) => {
    const at = clock.now()
    forget(operation)
    await operations.mark(
      operation.id,
      undefined,
      leaving.map(({ item: { place } }) => ({
        place,
        from: ['sending'],
        to: failed === undefined ? 'waiting' : 'failed',
        ...(failed !== undefined && { because: failed }),
        at,
        letter: { from: ['replaying'], to: 'open' },
      })),
      actOf(operation, 'replay undone'),
    )
  }

  /**
   * A letter that holds an order key is given up first, then what waits behind it is let go, then it is removed. Whoever is
   * paused, or dies, in between leaves a letter that is given up, and of which all of this can be done again.
   */
  const purge = async (kept: KeptOperation, most: number): Promise<boolean> => {
    const { operation, version } = kept
    const chosen = await choose(kept, most)
    const { skips, leaving, at } = chosen
    if (skips.length > 0 && !(await operations.mark(operation.id, version, skips))) return false
    if (leaving.length === 0) return true
    const keyed = leaving.filter(({ kept: { letter, state } }) => {
      return letter.event.extensions.orderkey !== undefined && state !== 'replaying'
    })
    const holding = keyed.filter(({ kept: { state } }) => HOLDING.includes(state))
    if (holding.length > 0) {
      const letter = { from: HOLDING, to: 'discarded' } as const
      const giving = holding.map(
        ({ item: { place } }): ItemMark => ({ place, from: ['waiting'], to: 'waiting', at, letter }),
      )
      if (!(await operations.mark(operation.id, version, giving, actOf(operation, 'discard')))) return false
    }
    for (const { kept: each } of keyed) await deadKeys.release(each.letter)
    const from = purgeableFrom(operation)
    const marks = leaving.map(
      ({ item: { place } }): ItemMark => ({
        place,
        from: ['waiting'],
        to: 'purged',
        at,
        letter: { from, to: 'removed' },
      }),
    )
    if (!(await operations.mark(operation.id, version, marks, actOf(operation, 'purge')))) return false
    reach(kept, chosen)
    return true
  }

  return { replay, stream, again, purge }
}

const byPlace = (a: Leaving, b: Leaving): number => a.item.place - b.item.place

const hopelessness = (error: Error): string | undefined =>
  error instanceof ReprieveError && HOPELESS.has(error.code) ? error.code.replaceAll('_', ' ') : undefined
