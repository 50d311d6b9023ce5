import type { Snapshot, Trend } from '../../core/snapshot.ts'
import { iso } from '../../core/time.ts'
import type { History } from '../../office/index.ts'
import { bad, calm, good } from '../print/paint.ts'
import { columnsHere } from '../print/say.ts'
import { spark } from '../print/spark.ts'
import { type Column, table } from '../print/table.ts'
import { span } from '../print/time.ts'

/** Snapshots in the order of time, and where the depth goes. */
export const historyText = ({ snapshots, trend }: History): string => {
  if (snapshots.length === 0)
    return 'no snapshot yet: `reprieve serve` or `reprieve run` takes one every 5 minutes'
  const depths = spark(snapshots.map(({ depth }) => depth))
  return `${table(columns, snapshots, columnsHere())}\n\n${depths}  ${trend ? trendText(trend) : calm('no trend of one snapshot')}`
}

const trendText = ({ direction, first, recent, average, change }: Trend): string => {
  const paint = direction === 'increasing' ? bad : direction === 'decreasing' ? good : calm
  const by = change === undefined ? '' : ` (${change > 0 ? '+' : ''}${Math.round(change * 100)} %)`
  return `${paint(direction)}: ${first} → ${recent}${by}, ${Math.round(average * 10) / 10} on average`
}

const columns: readonly Column<Snapshot>[] = [
  { title: 'at', of: ({ at }) => `${iso(at).slice(0, 16).replace('T', ' ')}Z`, least: 17 },
  { title: 'depth', of: ({ depth }) => String(depth), align: 'right' },
  {
    title: 'oldest',
    of: ({ oldest }) => (oldest === undefined ? '' : span(oldest)),
    align: 'right',
  },
  { title: 'over', of: ({ over }) => String(over), align: 'right' },
  {
    title: 'retries',
    of: ({ averageRetries }) => (averageRetries === undefined ? '' : String(averageRetries)),
    align: 'right',
  },
  {
    title: 'errors',
    of: ({ errors }) => mostOf(Object.entries(errors).map(([name, count]) => `${count} ${name}`)),
    least: 10,
  },
  {
    title: 'deepest',
    of: ({ queues }) => mostOf(queues.map(({ service, depth }) => `${depth} ${service}`)),
    least: 10,
  },
]

const mostOf = (some: readonly string[]): string => some.slice(0, 3).join(', ')
