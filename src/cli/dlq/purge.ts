import type { Command } from 'commander'
import { LETTER_STATES } from '../../core/letter.ts'
import { needReason } from '../../office/index.ts'
import { type ActingFlags, actingOf, withActing } from '../acting.ts'
import { action, type Ended } from '../action.ts'
import { say, sayJson } from '../print/say.ts'
import { tellElsewhere } from './elsewhere.ts'
import { withFilter, withState } from './filter.ts'
import { openOffice } from './office.ts'
import { countsText } from './operation-text.ts'
import { fitsNothing, type PaceFlags, tellNothing, tellPlanned, withPace } from './replay.ts'
import { asFilter, checkSelection, type SelectionFlags, selectionOf } from './selection.ts'
import { watchOperation } from './watch.ts'

interface PurgeFlags extends SelectionFlags, ActingFlags, PaceFlags {}

const STATE = 'in this state, else what is open or in quarantine; may be said again'

export const registerPurge = (dlq: Command): void => {
  withState(
    withPace(withActing(withFilter(dlq.command('purge'))), 'all that are open or in quarantine'),
    LETTER_STATES,
    STATE,
  )
    .description('take dead letters away for good; what waits behind them with their order key goes on')
    .argument('[ids...]', 'ids of letters, or their beginnings')
    .action(action(purge))
}

const purge = async (flags: PurgeFlags, typed: readonly string[]): Promise<Ended> => {
  checkSelection('purge', flags, typed, { all: true })
  needReason(flags, 'a purge')
  await using opened = await openOffice(flags)
  const { office } = opened.app
  const { operations } = office
  const letters = await selectionOf(office, flags, typed)
  const { batch, rate } = flags
  const pace = { ...(batch !== undefined && { batch }), ...(rate !== undefined && { rate }) }
  const planned = await operations.plan(asFilter(letters), { kind: 'purge', ...pace }, actingOf(flags))
  const { id, state } = planned.operation
  if (fitsNothing(planned)) return tellNothing(planned, flags)
  if (!flags.json && !flags.jsonl) await tellElsewhere(office, planned)
  if (flags.dryRun || state === 'needs approval') return tellPlanned(planned, flags)
  await operations.start(id, actingOf(flags))
  const working = operations.work(id)
  const { json, jsonl, watch } = flags
  const kept = await watchOperation(office, id, { until: 'end', jsonl, quiet: json || !watch })
  await working
  if (json) sayJson(kept)
  else if (!jsonl) say(countsText(kept))
  return kept.operation.state === 'done' && kept.counts.skipped === 0 ? 0 : 1
}
