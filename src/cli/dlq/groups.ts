import type { Command } from 'commander'
import { systemClock } from '../../adapters/system/clock.ts'
import type { Instant } from '../../core/time.ts'
import type { LetterGroup } from '../../office/index.ts'
import { action, type Ended } from '../action.ts'
import { asCount, type Common } from '../options.ts'
import { inert } from '../print/inert.ts'
import { bad, calm, calmOnStderr, warn } from '../print/paint.ts'
import { columnsHere, isNarrow, remark, say, sayJson } from '../print/say.ts'
import { type Column, table } from '../print/table.ts'
import { span } from '../print/time.ts'
import { cutTo } from '../print/width.ts'
import { tellUnknown } from './filter.ts'
import { openLetters } from './office.ts'

interface GroupsFlags extends Common {
  readonly service?: string
  readonly all?: true
  readonly limit: number
}

export const registerGroups = (dlq: Command): void => {
  dlq
    .command('groups')
    .description('causes: dead letters that failed alike, what hurts most first')
    .option('--service <name>', 'of this service')
    .option('--all', 'also groups whose letters are all at an end')
    .option('--limit <count>', 'at most so many', asCount, 20)
    .action(action(groups))
}

const groups = async (flags: GroupsFlags): Promise<Ended> => {
  await using opened = await openLetters(flags)
  const { service, all = false, limit } = flags
  const found = await opened.app.office.groups({ all, ...(service !== undefined && { service }) })
  const shown = found.slice(0, limit)
  if (flags.json) return sayJson({ count: found.length, groups: shown }, shown)
  if (shown.length === 0) {
    if (service !== undefined) await tellUnknown(opened.app.office, { service })
    return say(service === undefined ? 'no dead letters' : `no dead letters of ${inert(service)}`)
  }
  say(groupTable(shown))
  const rest = found.slice(limit)
  const letters = rest.reduce((sum, { open }) => sum + open, 0)
  if (rest.length > 0)
    remark(calmOnStderr(`${rest.length} more groups with ${letters} letters; see them with --limit`))
}

/** The error tells the causes apart: where there is no room for it beside the figures, it stands below them. */
const groupTable = (shown: readonly LetterGroup[]): string => {
  const room = columnsHere()
  const all = columns(systemClock.now())
  if (room === undefined || !isNarrow(room)) return table(all, shown, room)
  const [head, ...rows] = table(all.slice(0, -1), shown, room).split('\n')
  const below = shown.map(({ error }, i) => `${rows[i]}\n  ${calm(cutTo(inert(error), room - 2))}`)
  return [head, ...below].join('\n')
}

const columns = (now: Instant): readonly Column<LetterGroup>[] => [
  { title: 'group', of: ({ fingerprint }) => fingerprint, least: 8 },
  { title: 'open', of: ({ open }) => String(open), align: 'right' },
  {
    title: 'last hour',
    of: growthText,
    align: 'right',
    paint: (text, { growth }) => (growth > 0 ? bad : calm)(text),
  },
  { title: 'last', of: ({ lastAt }) => span(now - lastAt), align: 'right' },
  { title: 'is', of: marksOf, least: 3, paint: warn },
  { title: 'critical', of: ({ criticality }) => criticality, least: 4, wide: 60 },
  { title: 'service', of: ({ services }) => services.join(' '), least: 6 },
  { title: 'owner', of: ({ owner = 'nobody' }) => owner, least: 5, wide: 60 },
  { title: 'error', of: ({ error }) => error, least: 12, paint: calm },
]

/** How many came, and how many more than in the hour before. */
export const growthText = ({ lastHour, growth }: LetterGroup): string =>
  `${lastHour} (${growth > 0 ? '+' : ''}${growth})`

export const marksOf = ({ isNew, regressed, snoozed }: LetterGroup): string =>
  [isNew && 'new', regressed && 'back', snoozed && 'snoozed'].filter(Boolean).join(' ')
