import type { KeptLetter, Letters } from '../contracts/letters.ts'
import type { Item, ItemMark, KeptOperation, Operations } from '../contracts/operations.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Transport } from '../contracts/transport.ts'
import type { ActName, ActOnLetters } from '../core/acts.ts'
import type { Details } from '../core/audit.ts'
import { ReprieveError } from '../core/error.ts'
import type { Operation } from '../core/operation.ts'
import { purgeableFrom, sendableFrom } from '../core/replay-check.ts'
import { type RuleBook, serviceRules } from '../rules/index.ts'
import type { createChecks } from './checks.ts'
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

/** One letter on its way, with its item. */
interface Leaving {
  readonly item: Item
  readonly kept: KeptLetter
}

/** What no second try mends: the letter goes nowhere, whoever sends it. */
const HOPELESS: ReadonlySet<string> = new Set(['unknown_subscription', 'unheard', 'bad_event'])

/** The steps of an operation that act. Each marks first, so that whoever comes after knows what may have been done. */
export const createSending = (means: Sending) => {
  const { operations, letters, transport, receiptTo, tools, book, checks, deadKeys } = means
  const { clock, journal } = tools

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

  /** The next ones in order, and what speaks against some of them by now. */
  const choose = async ({ operation }: KeptOperation, most: number) => {
    const items = await operations.items(operation.id, ['waiting'], most)
    const found = await lettersOf(items)
    const check = await checks()
    const against = await Promise.all(
      items.map(({ letter }) => check(found.get(letter), { operation, approved: true })),
    )
    const at = clock.now()
    const skips = items.flatMap((item, i): ItemMark[] =>
      against[i] === undefined
        ? []
        : [{ place: item.place, from: ['waiting'], to: 'skipped', because: against[i], at }],
    )
    const leaving = items.flatMap((item, i): Leaving[] =>
      against[i] === undefined ? [{ item, kept: found.get(item.letter)! }] : [],
    )
    return { skips, leaving, at }
  }

  const lettersOf = async (items: readonly Item[]): Promise<ReadonlyMap<string, KeptLetter>> => {
    const ids = items.map(({ letter }) => letter)
    return new Map((await letters.find({ ids }, ids.length)).map((kept) => [kept.letter.id, kept]))
  }

  /** false: somebody paused, cancelled or took it over meanwhile, and nothing was done. */
  const replay = async (kept: KeptOperation, most: number, strict: boolean): Promise<boolean> => {
    const { operation, version } = kept
    const { skips, leaving, at } = await choose(kept, most)
    if (skips.length > 0 && !(await operations.mark(operation.id, version, skips))) return false
    const from = sendableFrom(operation)
    const marks = leaving.map(
      ({ item }): ItemMark => ({
        place: item.place,
        from: ['waiting'],
        to: 'sending',
        at,
        letter: { from, to: 'replaying' },
      }),
    )
    if (marks.length === 0) return true
    const marked = await operations.mark(operation.id, version, marks, actOf(operation, 'replay'))
    if (!marked) return false
    await leave(
      operation,
      leaving.filter((_, i) => marked[i]),
      strict,
    )
    return true
  }

  /** What was marked by someone who died: it may be on its way, and goes again, with an entry that says so. */
  const again = async ({ operation, version }: KeptOperation, strict: boolean): Promise<boolean> => {
    for (;;) {
      const items = await operations.items(operation.id, ['sending'], operation.plan.batch)
      if (items.length === 0) return true
      const found = await lettersOf(items)
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

  const leave = async (operation: Operation, all: readonly Leaving[], strict: boolean): Promise<void> => {
    const items = new Map(all.map(({ item, kept }) => [kept.letter.id, item]))
    const ways = waysOf(
      all.map(({ kept }) => kept),
      { transport, receiptTo, at: clock.now(), operation, groupOf },
    )
    const leaving = ({ letters: some }: Way) =>
      some.map((kept) => ({ kept, item: items.get(kept.letter.id)! }))
    for (const [n, way] of ways.entries()) {
      try {
        await way.go()
      } catch (error) {
        const hopeless = !strict && HOPELESS.has((error as { code?: string }).code ?? '')
        await undo(
          operation,
          (hopeless ? [way] : ways.slice(n)).flatMap(leaving),
          hopeless ? wordOf(error) : undefined,
        )
        if (hopeless) continue
        throw error
      }
      await sent(operation, leaving(way), way.ends)
    }
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

  /** What waits behind a letter goes on before the letter is gone: else nobody could let it go any more. */
  const purge = async (kept: KeptOperation, most: number): Promise<boolean> => {
    const { operation, version } = kept
    const { skips, leaving, at } = await choose(kept, most)
    if (skips.length > 0 && !(await operations.mark(operation.id, version, skips))) return false
    if (leaving.length === 0) return true
    for (const { kept: each } of leaving) await deadKeys.release(each.letter)
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
    return (await operations.mark(operation.id, version, marks, actOf(operation, 'purge'))) !== undefined
  }

  return { replay, again, purge }
}

const wordOf = (error: unknown): string =>
  error instanceof ReprieveError ? error.code.replaceAll('_', ' ') : 'can not be sent'
