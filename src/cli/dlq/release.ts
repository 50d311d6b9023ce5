import type { Command } from 'commander'
import { needReason } from '../../office/index.ts'
import { type ActingFlags, actingOf, withActing } from '../acting.ts'
import { action, type Ended } from '../action.ts'
import { withProgress } from '../print/progress.ts'
import { say, sayJson } from '../print/say.ts'
import { type FilterFlags, withFilter } from './filter.ts'
import { openOffice } from './office.ts'
import { checkSelection, selectionOf } from './selection.ts'
import { tellSkipped } from './skipped.ts'

export const registerRelease = (dlq: Command): void => {
  withActing(withFilter(dlq.command('release')))
    .description('let poison out of quarantine, so that it can be replayed')
    .argument('[ids...]', 'ids of letters, or their beginnings')
    .action(action(release))
}

const release = async (flags: ActingFlags & FilterFlags, typed: readonly string[]): Promise<Ended> => {
  needReason(flags, 'to let letters out of quarantine')
  checkSelection('release', flags, typed, { all: false })
  await using opened = await openOffice(flags)
  const { office } = opened.app
  const letters = await selectionOf(office, flags, typed)
  const result = await withProgress('released', (onProgress) =>
    office.release(letters, { ...actingOf(flags), onProgress }),
  )
  if (flags.json) sayJson(result)
  else {
    say(`${result.released.length} released`)
    tellSkipped(result.skipped, 'released')
  }
  return result.skipped.length > 0 ? 1 : 0
}
