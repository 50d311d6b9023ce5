import type { Command } from 'commander'
import { needReason } from '../../office/index.ts'
import { type ActingFlags, actingOf, withActing } from '../acting.ts'
import { action, type Ended } from '../action.ts'
import { withProgress } from '../print/progress.ts'
import { say, sayJson } from '../print/say.ts'
import { type FilterFlags, withFilter, withState } from './filter.ts'
import { openOffice } from './office.ts'
import { checkSelection, selectionOf } from './selection.ts'
import { tellSkipped } from './skipped.ts'

export const registerResolve = (dlq: Command): void => {
  withState(withActing(withFilter(dlq.command('resolve'))), ['open', 'quarantined', 'dead again'])
    .description(
      'say that dead letters were dealt with elsewhere; what waits behind them with their order key goes on',
    )
    .argument('[ids...]', 'ids of letters, or their beginnings')
    .action(action(resolve))
}

const resolve = async (flags: ActingFlags & FilterFlags, typed: readonly string[]): Promise<Ended> => {
  needReason(flags, 'to resolve letters by hand')
  checkSelection('resolve', flags, typed, { all: false })
  await using opened = await openOffice(flags)
  const { office } = opened.app
  const letters = await selectionOf(office, flags, typed)
  const result = await withProgress('resolved', (onProgress) =>
    office.resolve(letters, { ...actingOf(flags), onProgress }),
  )
  if (flags.json) sayJson(result)
  else {
    const freed = result.freed === 0 ? '' : `, ${result.freed} that waited behind them go on`
    say(`${result.resolved.length} resolved${freed}`)
    tellSkipped(result.skipped, 'resolved')
  }
  return result.skipped.length > 0 ? 1 : 0
}
