import type { Command } from 'commander'
import { type ActingFlags, actingOf, withActing } from '../acting.ts'
import { action, type Ended } from '../action.ts'
import { inert } from '../print/inert.ts'
import { remark, say, sayJson } from '../print/say.ts'
import { type FilterFlags, withFilter } from './filter.ts'
import { openOffice } from './office.ts'
import { selectionOf } from './select.ts'

export const registerRestore = (dlq: Command): void => {
  withActing(withFilter(dlq.command('restore')))
    .description('take back what was discarded, as long as it is kept')
    .argument('[ids...]', 'ids of letters, or their beginnings')
    .action(action(restore))
}

const restore = async (flags: ActingFlags & FilterFlags, typed: readonly string[]): Promise<Ended> => {
  await using opened = await openOffice(flags)
  const { office } = opened.app
  const result = await office.restore(await selectionOf(office, flags, typed, 'restore'), actingOf(flags))
  if (flags.json) sayJson(result)
  else {
    say(`${result.restored.length} restored`)
    for (const { id, because } of result.skipped) remark(`${inert(id)} not restored: ${inert(because)}`)
  }
  return result.skipped.length > 0 ? 1 : 0
}
