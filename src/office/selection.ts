import type { LetterFilter, LetterState, Letters } from '../contracts/letters.ts'
import type { Details } from '../core/audit.ts'

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
  const may = selection.states?.filter((state) => states.includes(state)) ?? states
  const ids: string[] = []
  for (;;) {
    const page = await letters.find({ ...selection, states: may }, PAGE, ids.at(-1))
    ids.push(...page.map(({ letter }) => letter.id))
    if (page.length < PAGE) return ids
  }
}

const isIds = (selection: Selection): selection is readonly string[] => Array.isArray(selection)

/** For the audit: what they were chosen by. */
export const chosenBy = (selection: Selection): Details =>
  isIds(selection) ? {} : { filter: selection as Details }
