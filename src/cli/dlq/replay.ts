import type { Command } from 'commander'
import type { LetterFilter } from '../../contracts/letters.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Millis } from '../../core/time.ts'
import type { Office, ReplayResult } from '../../office/index.ts'
import { type ActingFlags, actingOf, withActing } from '../acting.ts'
import { action, type Ended } from '../action.ts'
import { asDuration } from '../options.ts'
import { inert } from '../print/inert.ts'
import { remark, say, sayJson } from '../print/say.ts'
import { type FilterFlags, filterOf, wholeFilter, withFilter } from './filter.ts'
import { wholeIds } from './find.ts'
import { type Endings, follow } from './follow.ts'
import { openOffice } from './office.ts'

interface ReplayFlags extends FilterFlags, ActingFlags {
  readonly all?: true
  readonly wait?: Millis
}

export const registerReplay = (dlq: Command): void => {
  withActing(withFilter(dlq.command('replay')))
    .description('send dead letters back to the service that failed')
    .argument('[ids...]', 'ids of letters, or their beginnings')
    .option('--all', 'all that are open')
    .option('--wait <duration>', 'wait so long to hear how they ended', asDuration)
    .action(action(replay))
}

const replay = async (flags: ReplayFlags, typed: readonly string[]): Promise<Ended> => {
  checkSelection(flags, typed)
  await using opened = await openOffice(flags)
  const { office } = opened.app
  const result = await office.replay(await selection(office, flags, typed), actingOf(flags))
  let endings: Endings | undefined
  if (flags.wait !== undefined) {
    // from here on it takes over what arrives: receipts, and letters of those that died again
    await office.open(opened.destinations)
    endings = await follow(office, result.sent, flags.wait)
  }
  if (flags.json) sayJson({ ...result, ...(endings && { endings }) })
  else tell(result, endings)
  const wrong = result.skipped.length > 0 || (endings && endings.deadAgain + endings.onTheWay > 0)
  return wrong ? 1 : 0
}

const checkSelection = (flags: ReplayFlags, typed: readonly string[]): void => {
  const filtered = Object.keys(filterOf(flags)).length > 0
  const ways = [typed.length > 0, filtered, flags.all === true].filter(Boolean).length
  if (ways === 1) return
  throw new ReprieveError(
    'bad_usage',
    ways === 0
      ? 'nothing is selected: name ids or a filter'
      : 'ids, a filter, or --all: one of them, not several',
    { fix: 'like reprieve dlq replay 1f0c2a9b, or --service notification-svc, or --all' },
  )
}

const selection = async (
  office: Office,
  flags: ReplayFlags,
  typed: readonly string[],
): Promise<LetterFilter> =>
  typed.length > 0 ? { ids: [...new Set(await wholeIds(office, typed))] } : wholeFilter(office, flags)

const tell = ({ sent, skipped }: ReplayResult, endings: Endings | undefined): void => {
  say(sent.length + skipped.length === 0 ? 'no open dead letter fits' : `${sent.length} sent`)
  for (const { id, because } of skipped) remark(`${inert(id)} not sent: ${inert(because)}`)
  if (!endings) return
  say(`${endings.resolved} resolved, ${endings.deadAgain} dead again, ${endings.onTheWay} still on the way`)
  if (endings.onTheWay > 0)
    remark('those on the way end when their service runs: reprieve dlq list shows how')
}
