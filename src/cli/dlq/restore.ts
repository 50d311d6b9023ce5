import type { Command } from 'commander'
import { type ActingFlags, actingOf, withActing } from '../acting.ts'
import { action, type Ended } from '../action.ts'
import { withProgress } from '../print/progress.ts'
import { say, sayJson } from '../print/say.ts'
import { type FilterFlags, withFilter } from './filter.ts'
import { openOffice } from './office.ts'
import { checkSelection, selectionOf } from './selection.ts'
import { tellSkipped } from './skipped.ts'

export const registerRestore = (dlq: Command): void => {
  withActing(withFilter(dlq.command('restore')))
    .description('take back what was discarded, as long as it is kept')
    .argument('[ids...]', 'ids of letters, or their beginnings')
    .action(action(restore))
}

const restore = async (flags: ActingFlags & FilterFlags, typed: readonly string[]): Promise<Ended> => {
  checkSelection('restore', flags, typed, { all: false })
  await using opened = await openOffice(flags)
  const { office } = opened.app
  const letters = await selectionOf(office, flags, typed)
  const result = await withProgress('restored', (onProgress) =>
    office.restore(letters, { ...actingOf(flags), onProgress }),
  )
  if (flags.json) sayJson(result)
  else {
    say(`${result.restored.length} restored`)
    tellSkipped(result.skipped, 'restored')
  }
  return result.skipped.length > 0 ? 1 : 0
}
