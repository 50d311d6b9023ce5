import type { Command } from 'commander'
import { systemClock } from '../../adapters/system/clock.ts'
import type { Instant } from '../../core/time.ts'
import type { Stats, SubscriptionStats } from '../../office/index.ts'
import { action, type Ended } from '../action.ts'
import { asCount, type Common } from '../options.ts'
import { strong } from '../print/paint.ts'
import { columnsHere, say, sayJson } from '../print/say.ts'
import { spark } from '../print/spark.ts'
import { table } from '../print/table.ts'
import { span } from '../print/time.ts'
import { historyText } from './history.ts'
import { facts } from './letter.ts'
import { openLetters } from './office.ts'

export const registerStats = (dlq: Command): void => {
  dlq
    .command('stats')
    .description('how the dead letters stand')
    .option('--history', 'how they stood: a snapshot for each five minutes, and where it goes')
    .option('--limit <count>', 'with --history: at most so many snapshots, the newest', asCount, 10)
    .action(action(stats))
}

interface StatsFlags extends Common {
  readonly history?: true
  readonly limit: number
}

const stats = async (flags: StatsFlags): Promise<Ended> => {
  await using opened = await openLetters(flags)
  if (flags.history) {
    const history = await opened.app.watch.history(flags.limit)
    return flags.json ? sayJson(history, history.snapshots) : say(historyText(history))
  }
  const found = await opened.app.office.stats()
  if (flags.json) return sayJson(found)
  say(statsText(found, systemClock.now()))
}

const statsText = (stats: Stats, now: Instant): string => {
  const { groups, open, total, lastHour, hourBefore } = stats
  const rows: (readonly [string, string])[] = [
    ['open', `${open} of ${total} kept`],
    ['oldest', stats.oldest === undefined ? 'none' : `${span(now - stats.oldest)} ago`],
    ['last hour', `${lastHour}, ${hourBefore} in the hour before`],
    ['last day', spark(stats.trend)],
    [
      'groups',
      `${groups.open} open: ${groups.isNew} new, ${groups.regressed} came back, ${groups.unowned} with nobody on them`,
    ],
    ['states', counts(stats.states)],
    ['categories', counts(stats.categories)],
    ['kinds', counts(stats.kinds)],
  ]
  const text = facts(
    rows.filter(([, value]) => value !== ''),
    columnsHere(),
  )
  if (stats.subscriptions.length === 0) return text
  const doors = table<SubscriptionStats>(
    [
      { title: 'open', of: (door) => String(door.open), align: 'right' },
      { title: 'service', of: ({ service }) => service, least: 8, wrap: true, paint: strong },
      { title: 'topic', of: ({ topic }) => topic, least: 8, wrap: true },
    ],
    stats.subscriptions,
    columnsHere(),
  )
  return `${text}\n\n${doors}`
}

const counts = (of: Readonly<Record<string, number>>): string =>
  Object.entries(of)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')
