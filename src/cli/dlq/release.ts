import type { Command } from 'commander'
import { action, type Ended } from '../action.ts'
import type { Common } from '../options.ts'
import { inert } from '../print/inert.ts'
import { remark, say, sayJson } from '../print/say.ts'
import { wholeIds } from './find.ts'
import { openOffice } from './office.ts'

interface ReleaseFlags extends Common {
  readonly reason?: string
}

export const registerRelease = (dlq: Command): void => {
  dlq
    .command('release')
    .description('let poison out of quarantine, so that it can be replayed')
    .argument('<ids...>', 'ids of letters, or their beginnings')
    .option('--reason <text>', 'why')
    .action(action(release))
}

const release = async (flags: ReleaseFlags, typed: readonly string[]): Promise<Ended> => {
  await using opened = await openOffice(flags)
  const { office } = opened.app
  const ids = [...new Set(await wholeIds(office, typed))]
  const result = await office.release(ids, flags.reason === undefined ? {} : { reason: flags.reason })
  if (flags.json) sayJson(result)
  else {
    say(`${result.released.length} released`)
    for (const { id, because } of result.skipped) remark(`${inert(id)} not released: ${inert(because)}`)
  }
  return result.skipped.length > 0 ? 1 : 0
}
