import type { Command } from 'commander'
import { type ActingFlags, actingOf, withActing } from '../acting.ts'
import { action, type Ended } from '../action.ts'
import { inert } from '../print/inert.ts'
import { remark, say, sayJson } from '../print/say.ts'
import { type FilterFlags, withFilter } from './filter.ts'
import { openOffice } from './office.ts'
import { selectionOf } from './select.ts'

export const registerRelease = (dlq: Command): void => {
  withActing(withFilter(dlq.command('release')))
    .description('let poison out of quarantine, so that it can be replayed')
    .argument('[ids...]', 'ids of letters, or their beginnings')
    .action(action(release))
}

const release = async (flags: ActingFlags & FilterFlags, typed: readonly string[]): Promise<Ended> => {
  await using opened = await openOffice(flags)
  const { office } = opened.app
  const result = await office.release(await selectionOf(office, flags, typed, 'release'), actingOf(flags))
  if (flags.json) sayJson(result)
  else {
    say(`${result.released.length} released`)
    for (const { id, because } of result.skipped) remark(`${inert(id)} not released: ${inert(because)}`)
  }
  return result.skipped.length > 0 ? 1 : 0
}
