import type { Command } from 'commander'
import { type ActingFlags, actingOf, withActing } from '../acting.ts'
import { action, type Ended } from '../action.ts'
import { withProgress } from '../print/progress.ts'
import { say, sayJson } from '../print/say.ts'
import { type FilterFlags, withFilter, withState } from './filter.ts'
import { openOffice } from './office.ts'
import { checkSelection, selectionOf } from './selection.ts'
import { tellSkipped } from './skipped.ts'

export const registerDiscard = (dlq: Command): void => {
  withState(withActing(withFilter(dlq.command('discard'))), ['open', 'quarantined'])
    .description('give up dead letters for good; what waits behind them with their order key goes on')
    .argument('[ids...]', 'ids of letters, or their beginnings')
    .action(action(discard))
}

const discard = async (flags: ActingFlags & FilterFlags, typed: readonly string[]): Promise<Ended> => {
  checkSelection('discard', flags, typed, { all: false })
  await using opened = await openOffice(flags)
  const { office } = opened.app
  const letters = await selectionOf(office, flags, typed)
  const result = await withProgress('discarded', (onProgress) =>
    office.discard(letters, { ...actingOf(flags), onProgress }),
  )
  if (flags.json) sayJson(result)
  else {
    const freed = result.freed === 0 ? '' : `, ${result.freed} that waited behind them go on`
    say(`${result.discarded.length} discarded${freed}`)
    tellSkipped(result.skipped, 'discarded')
  }
  return result.skipped.length > 0 ? 1 : 0
}
