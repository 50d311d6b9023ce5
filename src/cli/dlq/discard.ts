import type { Command } from 'commander'
import { action, type Ended } from '../action.ts'
import type { Common } from '../options.ts'
import { inert } from '../print/inert.ts'
import { remark, say, sayJson } from '../print/say.ts'
import { wholeIds } from './find.ts'
import { openOffice } from './office.ts'

interface DiscardFlags extends Common {
  readonly reason?: string
}

export const registerDiscard = (dlq: Command): void => {
  dlq
    .command('discard')
    .description('give up dead letters for good; what waits behind them with their order key goes on')
    .argument('<ids...>', 'ids of letters, or their beginnings')
    .option('--reason <text>', 'why')
    .action(action(discard))
}

const discard = async (flags: DiscardFlags, typed: readonly string[]): Promise<Ended> => {
  await using opened = await openOffice(flags)
  const { office } = opened.app
  const ids = [...new Set(await wholeIds(office, typed))]
  const result = await office.discard(ids, flags.reason === undefined ? {} : { reason: flags.reason })
  if (flags.json) sayJson(result)
  else {
    const freed = result.freed === 0 ? '' : `, ${result.freed} that waited behind them go on`
    say(`${result.discarded.length} discarded${freed}`)
    for (const { id, because } of result.skipped) remark(`${inert(id)} not discarded: ${inert(because)}`)
  }
  return result.skipped.length > 0 ? 1 : 0
}
