import type { LetterFilter, LetterState, Letters } from '../contracts/letters.ts'
import type { Details } from '../core/audit.ts'
import { ReprieveError } from '../core/error.ts'
import type { OperationKind, Plan } from '../core/operation.ts'
import { purgeableFrom, sendableFrom } from '../core/replay-check.ts'
import { checkFilter } from '../core/sift.ts'
import { iso } from '../core/time.ts'

/** Letters by their ids, or all that fit. */
export type Selection = readonly string[] | LetterFilter

const PAGE = 500

/** The ids that fit now: letters that arrive meanwhile are no part of it. Ids that were named stay as they are. */
export const frozenIds = async (
  letters: Pick<Letters, 'find'>,
  selection: Selection,
  states: readonly LetterState[],
): Promise<readonly string[]> => {
  if (isIds(selection)) return [...new Set(selection)]
  checkFilter(selection)
  const may = selection.states?.filter((state) => states.includes(state)) ?? states
  const ids: string[] = []
  for (;;) {
    const page = await letters.find({ ...selection, states: may }, PAGE, ids.at(-1))
    ids.push(...page.map(({ letter }) => letter.id))
    if (page.length < PAGE) return ids
  }
}

/**
 * In which states an operation looks for letters. What was named by ids is taken as it stands, and told by its state. By a
 * filter only what is open or in quarantine is meant, unless states are named; a replay passes quarantine by, and says so.
 */
export const statesFor = (
  kind: OperationKind,
  { ids, states }: LetterFilter,
  plan: Plan,
  quick: boolean,
): { readonly states?: readonly LetterState[] } => {
  if (ids) return states ? { states } : {}
  checkOverrides(plan, states)
  const may = kind === 'purge' ? purgeableFrom({ plan }) : sendableFrom({ plan })
  if (quick) return { states: states ? may.filter((state) => states.includes(state)) : ['open'] }
  return { states: states ?? ['open', 'quarantined'] }
}

const MEANT = {
  'already done': ['resolved', 'dead again', 'discarded'],
  'on its way': ['replaying'],
} as const

/** To run again all that ever ended is nothing that is said by leaving something out. */
const checkOverrides = ({ although }: Plan, states: readonly LetterState[] = []): void => {
  for (const [word, meant] of Object.entries(MEANT) as [keyof typeof MEANT, readonly LetterState[]][]) {
    if (!although.includes(word) || meant.some((state) => states.includes(state))) continue
    throw new ReprieveError('bad_usage', `'${word}': a filter must say which letters that is meant for`, {
      fix: `name their state too (--state '${meant[0]}'), or the letters by their ids`,
    })
  }
}

const isIds = (selection: Selection): selection is readonly string[] => Array.isArray(selection)

/** For the audit: what they were chosen by. */
export const chosenBy = (selection: Selection): Details =>
  isIds(selection) ? {} : { filter: filterText(selection) }

/** A filter for people: its times are texts. */
export const filterText = ({ from, to, ...filter }: LetterFilter): Details => ({
  ...(filter as Details),
  ...(from !== undefined && { from: iso(from) }),
  ...(to !== undefined && { to: iso(to) }),
})
