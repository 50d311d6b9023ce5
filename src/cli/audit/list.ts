import { type Command, Option } from 'commander'
import { systemClock } from '../../adapters/system/clock.ts'
import { ACTS } from '../../core/acts.ts'
import type { AuditEntry } from '../../core/audit.ts'
import { type Instant, iso } from '../../core/time.ts'
import type { AuditFilter } from '../../office/index.ts'
import { action, type Ended } from '../action.ts'
import { asCount, asMoment, type Common } from '../options.ts'
import { calm, calmOnStderr, strong } from '../print/paint.ts'
import { columnsHere, isNarrow, remark, say, sayJson, WIDE } from '../print/say.ts'
import { type Column, table } from '../print/table.ts'
import { span } from '../print/time.ts'
import { openAudit } from './open.ts'

interface ListFlags extends Common, AuditFilter {
  readonly limit: number
  readonly before?: number
}

export const registerList = (audit: Command): void => {
  audit
    .command('list')
    .description('list what was done by hand, the newest first')
    .addOption(new Option('--act <act>', 'only this act').choices(ACTS))
    .option('--who <name>', 'only what this one did')
    .option(
      '--from <time>',
      'from this time on: like 2026-05-01, 2026-05-01T10:00Z, or 2h for two hours ago',
      asTime,
    )
    .option('--to <time>', 'before this time', asTime)
    .option('--limit <count>', 'at most so many', asCount, 50)
    .option('--before <number>', 'only what comes before the entry with this number: the next page', asCount)
    .action(action(list))
}

const asTime = (text: string): Instant => asMoment(text, systemClock.now())

const list = async (flags: ListFlags): Promise<Ended> => {
  await using app = await openAudit(flags)
  const entries = await app.audit.list(filterOf(flags), flags.limit, flags.before)
  if (flags.json) return sayJson({ entries }, entries)
  if (entries.length === 0) return say('nothing was done by hand that fits')
  say(table(columns(systemClock.now()), entries, columnsHere()))
  if (entries.length === flags.limit)
    remark(calmOnStderr(`there may be more: --before ${entries.at(-1)!.seq}`))
}

const filterOf = ({ act, who, from, to }: ListFlags): AuditFilter => ({
  ...(act !== undefined && { act }),
  ...(who !== undefined && { who }),
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to }),
})

const columns = (now: Instant): readonly Column<AuditEntry>[] => [
  { title: '#', of: ({ seq }) => String(seq), align: 'right' },
  { title: 'at', of: ({ at }) => shown(at), least: 15 },
  { title: 'age', of: ({ at }) => span(now - at), align: 'right', wide: 60 },
  { title: 'who', of: ({ who }) => who, least: 8 },
  { title: 'act', of: ({ act }) => act, paint: strong },
  { title: 'on', of: ({ target }) => target, least: 12 },
  { title: 'count', of: ({ count }) => String(count), align: 'right' },
  {
    title: 'step',
    of: ({ details: { step } }) => (typeof step === 'string' ? step : ''),
    paint: calm,
    wide: WIDE,
  },
  { title: 'why', of: ({ reason }) => reason ?? '', least: 10 },
]

/** Where there is little room without the year and the millisecond. Somebody may have made it a time that is none. */
const shown = (at: Instant): string => {
  try {
    return isNarrow() ? `${iso(at).slice(5, 19).replace('T', ' ')}Z` : iso(at)
  } catch {
    return String(at)
  }
}
