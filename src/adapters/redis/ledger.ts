import type { Ledger } from '../../contracts/ledger.ts'
import type { Tools } from '../../contracts/tools.ts'
import { BELIEVED, type Claim, endedRow, type LedgerKey } from '../../core/ledger.ts'
import type { Instant } from '../../core/time.ts'
import { createUnanswered } from '../../core/unanswered.ts'
import type { Link } from './link.ts'
import { ACQUIT, BEGIN, CLAIM, FINISH, RENEW } from './scripts.ts'

/**
 * All keys of one service have one place in a cluster (the part in braces decides), so that a batch is one script and
 * one step; services are spread. A batch is of one service, as the runtime asks; one of several takes a step for each.
 */
export const ledgerOf = (link: Link, prefix: string, { clock, dice }: Tools): Ledger => {
  const unanswered = createUnanswered(dice.uuid)
  const rowOf = ({ service, id }: LedgerKey): string => `${prefix}:ledger:{${service}}:${id}`

  return {
    claim: (keys, until) =>
      byService(
        keys,
        ({ service }) => service,
        (some) =>
          unanswered.claim(async (holder) => {
            const lost = [...unanswered.holders]
            const words = some.flatMap(({ hash, generation, attempt }) => [
              hash,
              `${generation}`,
              `${attempt}`,
            ])
            const when = [now(clock.now()), instant(until)]
            const all = [...when, holder, `${lost.length}`, ...lost, ...words]
            const answers = await link.run(CLAIM, some.map(rowOf), all)
            return (answers as readonly string[]).map((answer, i) => read(answer, some[i]!))
          }),
      ),
    begin: async ({ key, token }) =>
      Number(await link.run(BEGIN, [rowOf(key)], [now(clock.now()), `${token}`])) === 1,
    renew: async (held, until) => {
      await byService(
        held,
        ({ key }) => key.service,
        async (some) => {
          const words = [now(clock.now()), instant(until), ...some.map(({ token }) => `${token}`)]
          await link.run(
            RENEW,
            some.map(({ key }) => rowOf(key)),
            words,
          )
          return some
        },
      )
    },
    acquit: (held) =>
      byService(
        held,
        ({ key }) => key.service,
        async (some) => {
          const words = some.flatMap(({ key, token }) => [`${token}`, `${key.generation}`, `${key.attempt}`])
          const rows = some.map(({ key }) => rowOf(key))
          const answers = await link.run(ACQUIT, rows, [now(clock.now()), `${BELIEVED}`, ...words])
          return (answers as readonly unknown[]).map((answer) => Number(answer) === 1)
        },
      ),
    finish: (ends) =>
      byService(
        ends,
        ({ held }) => held.key.service,
        async (some) => {
          const at = clock.now()
          const words = some.flatMap(({ held, as }) => {
            const { state, attempt, until, crashes } = endedRow(held, as, at)
            return [`${held.token}`, state, `${attempt}`, instant(until), `${crashes}`]
          })
          const rows = some.map(({ held }) => rowOf(held.key))
          const answers = await link.run(FINISH, rows, [now(at), ...words])
          return (answers as readonly unknown[]).map((answer) => Number(answer) === 1)
        },
      ),
  }
}

const byService = async <T, R>(
  items: readonly T[],
  service: (item: T) => string,
  step: (items: readonly T[]) => Promise<readonly R[]>,
): Promise<readonly R[]> => {
  const groups = [...Map.groupBy(items, service).values()]
  if (groups.length <= 1) return groups[0] ? step(groups[0]) : []
  const answers = new Map<T, R[]>()
  for (const group of groups) {
    const got = await step(group)
    group.forEach((item, i) => {
      const kept = answers.get(item)
      if (kept) kept.push(got[i]!)
      else answers.set(item, [got[i]!])
    })
  }
  return items.map((item) => answers.get(item)!.shift()!)
}

const read = (answer: string, key: LedgerKey): Claim => {
  const [is, first, second] = answer.split(' ')
  switch (is) {
    case 'fresh':
      return { is, held: { key, token: Number(first) }, crashes: Number(second) }
    case 'busy':
      return { is, until: Number(first) }
    case 'done':
    case 'stale':
    case 'conflict':
      return { is }
    default:
      throw new Error(`Redis answered a claim with '${answer}'`)
  }
}

/** Whole milliseconds, never earlier, and never beyond what a number can hold. */
const instant = (at: Instant): string => `${Math.min(Math.ceil(at), 2 ** 52)}`
const now = (at: Instant): string => `${Math.floor(at)}`
