import type { LetterFilter, Letters } from '../contracts/letters.ts'
import type { KeptOperation, Operations } from '../contracts/operations.ts'
import type { Tools } from '../contracts/tools.ts'
import type { ActName } from '../core/acts.ts'
import type { Act, Details } from '../core/audit.ts'
import { ReprieveError } from '../core/error.ts'
import {
  type Canary,
  firstOf,
  lettersIn,
  type Operation,
  type OperationKind,
  OVERRIDES,
  type Override,
  type Plan,
  type Target,
} from '../core/operation.ts'
import { checkFilter } from '../core/sift.ts'
import type { Millis } from '../core/time.ts'
import { CANARY, type RuleBook } from '../rules/index.ts'
import { type Acting, type createActor, needReason } from './acting.ts'
import type { createChecks } from './checks.ts'
import { freeze } from './freezing.ts'
import { filterText, statesFor } from './selection.ts'
import { OPERATION_LEASE, type Working } from './working.ts'

export interface PlanOptions {
  /** Default: replay. */
  readonly kind?: OperationKind
  /** So many first, or none; default: as the rules say. */
  readonly canary?: number | Partial<Canary>
  readonly batch?: number
  /** Letters a second. */
  readonly rate?: number
  readonly to?: Target
  readonly although?: readonly Override[]
}

export interface DeskOptions {
  readonly operations: Operations
  readonly letters: Letters
  readonly tools: Tools
  readonly book: RuleBook
  readonly actor: ReturnType<typeof createActor>
  readonly checks: ReturnType<typeof createChecks>
  readonly working: Working
  readonly name: string
}

export type FreezeFor = (
  filter: LetterFilter,
  plan: PlanOptions,
  by: Acting,
  options?: { readonly quick?: boolean; readonly id?: string; readonly approved?: boolean },
) => Promise<KeptOperation>

const FROZEN_LASTS: Millis = 60 * 60_000
const NOTHING_FITS = 'no letter fits'

/** Freezes sets. */
export const createPlanning = (options: DeskOptions): FreezeFor => {
  const { operations, letters, tools, book, actor, checks, working, name } = options
  const { clock, dice } = tools
  const { approvalAbove, approvalLasts } = book.operations

  const freezeFor: FreezeFor = async (
    filter,
    plan,
    by,
    { quick = false, id = dice.uuid(), approved = false } = {},
  ) => {
    const kind = plan.kind ?? 'replay'
    const { who, reason } = actor(by, kind)
    if (kind === 'purge') needReason(by, 'a purge')
    const planned = planOf(plan, book, quick)
    // what can't be read is refused before anything is kept
    checkFilter(filter)
    const states = statesFor(kind, filter, planned, quick)
    const { ids, ...chosen } = filter
    const at = clock.now()
    const begun: Operation = {
      id,
      kind,
      state: 'freezing',
      since: at,
      by: who,
      at,
      ...(reason !== undefined && { reason }),
      chosen: { ...filterText(chosen), ...(ids && { ids: ids.length }) },
      plan: planned,
      ...(ids && !filter.states && { named: true }),
    }
    await working.tidy()
    await operations.begin(begun)
    let stays = clock.now() + OPERATION_LEASE
    const mine = (await operations.take(id, name, clock.now(), stays))!
    const stay = async (): Promise<void> => {
      const now = clock.now()
      if (now < stays - OPERATION_LEASE / 2) return
      stays = now + OPERATION_LEASE
      await operations.take(id, name, now, stays)
    }
    const frozen = await freeze(
      mine,
      { ...filter, ...states },
      {
        operations,
        letters,
        now: clock.now,
        check: await checks(),
        approvalAbove: approved ? undefined : approvalAbove,
        stay,
        sealed: ({ operation: asked, counts, reasons }, state, hash, found) => {
          const since = clock.now()
          const operation = { ...asked, found }
          const until = since + (state === 'frozen' ? FROZEN_LASTS : approvalLasts)
          const atOnce = quick && state === 'frozen'
          const next: Operation =
            Object.keys(found).length === 0
              ? { ...operation, state: 'cancelled', since, hash, because: NOTHING_FITS }
              : atOnce
                ? { ...operation, state: firstOf(operation), since, hash }
                : { ...operation, state, since, hash, until }
          const details: Details = {
            kind,
            filter: operation.chosen,
            set: hash,
            waiting: counts.waiting,
            reasons,
          }
          return {
            operation: next,
            act: quick
              ? undefined
              : actOnOperation(actor, begun.id, by, 'operation plan', lettersIn(counts), details),
          }
        },
      },
    ).catch(async (error) => {
      await giveUp(id)
      throw error
    })
    // whoever begins it need not wait for who froze it
    if (!quick) await operations.take(id, name, clock.now(), clock.now())
    return frozen
  }

  /** What could not be frozen whole is nothing: its letters are free at once. */
  const giveUp = async (id: string): Promise<void> => {
    const kept = await operations.read(id).catch(() => undefined)
    if (kept?.operation.state !== 'freezing') return
    const because = 'its set could not be frozen'
    const over: Operation = { ...kept.operation, state: 'cancelled', since: clock.now(), because }
    // where that fails too it is cancelled when its lease is over
    await operations.change(over, kept.version).catch(() => undefined)
  }

  return freezeFor
}

/** What the audit is told of an act on an operation. */
export const actOnOperation = (
  actor: ReturnType<typeof createActor>,
  id: string,
  by: Acting,
  act: ActName,
  count: number,
  details: Details = {},
): Act => ({ ...actor(by, act, details), target: `operation ${id}`, count })

const planOf = (asked: PlanOptions, { operations: rules }: RuleBook, quick: boolean): Plan => {
  const { kind = 'replay', batch = rules.batch, to, although = [] } = asked
  const rate = asked.rate ?? (quick ? undefined : rules.rate)
  const wrong = although.find((word) => !OVERRIDES.includes(word))
  if (wrong !== undefined) {
    throw new ReprieveError('bad_usage', `'${wrong}' is nothing that can be passed over`, {
      fix: `use one of ${OVERRIDES.join(', ')}`,
    })
  }
  inRange('batch', batch, 1, 1000)
  if (rate !== undefined) inRange('rate', rate, 0.01, 1_000_000)
  const canary = kind === 'purge' || quick ? undefined : canaryOf(asked.canary, rules.canary)
  return {
    batch,
    although: [...new Set(although)],
    ...(canary && { canary }),
    ...(rate !== undefined && { rate }),
    ...(to !== undefined && { to }),
  }
}

const canaryOf = (asked: PlanOptions['canary'], rules: Canary | undefined): Canary | undefined => {
  if (asked === undefined) return rules
  const given: Partial<Canary> = typeof asked === 'number' ? { size: asked } : asked
  const canary = { size: 10, ...CANARY, ...rules, ...given }
  if (canary.size === 0) return undefined
  inRange('canary', canary.size, 1, 10_000)
  inRange('deaths', canary.deaths, 0, 1)
  return canary
}

const inRange = (name: string, value: number, least: number, most: number): void => {
  if (typeof value === 'number' && value >= least && value <= most) return
  throw new ReprieveError('bad_usage', `${name} must be a number from ${least} to ${most}`)
}
