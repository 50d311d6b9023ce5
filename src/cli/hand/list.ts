import type { Instant } from '../../core/time.ts'
import type { BreakerLine } from '../../office/index.ts'
import { columnsHere } from '../print/say.ts'
import { type Column, table } from '../print/table.ts'
import { span } from '../print/time.ts'

/** How breakers stand, a line for each process that has one. */
export const breakerTable = (lines: readonly BreakerLine[], now: Instant): string => {
  const ago = (at: Instant | undefined): string => (at === undefined ? '' : span(now - at))
  const count = (title: string, of: (report: NonNullable<BreakerLine['report']>) => number) =>
    ({
      title,
      of: ({ report }) => (report ? String(of(report)) : ''),
      align: 'right',
    }) satisfies Column<BreakerLine>
  return table<BreakerLine>(
    [
      { title: 'breaker', of: ({ name }) => name, least: 8 },
      { title: 'state', of: ({ report }) => report?.state ?? 'not seen' },
      { title: 'for', of: ({ report }) => ago(report?.since), align: 'right' },
      { title: 'over all', of: overAll, least: 6 },
      { title: 'tripped', of: (line) => ago(tripOf(line)), align: 'right' },
      count('calls', ({ calls }) => calls),
      count('well', ({ successes }) => successes),
      count('failed', ({ failures }) => failures),
      count('refused', ({ rejections }) => rejections),
      count('changes', ({ transitions }) => transitions),
      { title: 'process', of: ({ report }) => report?.process.slice(-12) ?? '', least: 6 },
      {
        title: 'ordered',
        of: ({ forced }) => (forced ? `${forced.to} by ${forced.by}, for ${span(forced.until - now)}` : ''),
        least: 8,
      },
    ],
    lines,
    columnsHere(),
  )
}

/** When this process opened by its own evidence. */
const tripOf = ({ whole, report }: BreakerLine): Instant | undefined =>
  whole?.tripped.find(({ process }) => process === report?.process)?.at

const overAll = ({ whole, report }: BreakerLine): string => {
  const quorum = report === undefined ? '' : ` of ${report.quorum}`
  const tripped = whole?.tripped.length ?? 0
  return `${whole?.state ?? 'closed'}${tripped > 0 ? `, ${tripped}${quorum} tripped` : ''}`
}
