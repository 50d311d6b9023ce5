import type { Command } from 'commander'
import { systemClock } from '../../adapters/system/clock.ts'
import type { Instant } from '../../core/time.ts'
import type { KeptAlert } from '../../office/index.ts'
import { action, type Ended } from '../action.ts'
import type { Common } from '../options.ts'
import { figureText } from '../print/alert.ts'
import { bad, calm, calmOnStderr, good, warn } from '../print/paint.ts'
import { columnsHere, remark, say, sayJson } from '../print/say.ts'
import { type Column, table } from '../print/table.ts'
import { span } from '../print/time.ts'
import { openLetters } from './office.ts'

interface AlertsFlags extends Common {
  readonly all?: true
}

export const registerAlerts = (dlq: Command): void => {
  dlq
    .command('alerts')
    .description('figures that are over the line that the rules draw')
    .option('--all', 'also those that ended, of the last thirty days')
    .action(action(alerts))
}

/** Somebody looks once a minute: so long without a look is nobody. */
const LONG = 5 * 60_000

const alerts = async (flags: AlertsFlags): Promise<Ended> => {
  await using opened = await openLetters(flags)
  const { raised, ended, lookedAt } = await opened.app.watch.alerts()
  const shown = flags.all ? [...raised, ...ended] : raised
  if (flags.json) return sayJson({ lookedAt: lookedAt ?? null, alerts: shown }, shown)
  const now = systemClock.now()
  say(shown.length === 0 ? 'no alert' : table(columns(now), shown, columnsHere()))
  if (lookedAt === undefined || now - lookedAt > LONG) {
    const last = lookedAt === undefined ? 'yet' : `for ${span(now - lookedAt)}`
    remark(
      calmOnStderr(`nobody has looked ${last}: \`reprieve serve\` or \`reprieve run\` does, once a minute`),
    )
  }
}

const columns = (now: Instant): readonly Column<KeptAlert>[] => [
  { title: 'severity', of: ({ severity }) => severity, paint: (text, alert) => paintOf(alert)(text) },
  { title: 'metric', of: ({ metric }) => metric },
  { title: 'of', of: ({ of }) => of, least: 8 },
  { title: 'is', of: ({ unit, last }) => figureText(unit, last), align: 'right' },
  {
    title: 'limit',
    of: ({ unit, over, limit }) => `${over} ${figureText(unit, limit)}`,
    align: 'right',
  },
  { title: 'since', of: ({ since }) => `${span(now - since)} ago`, align: 'right' },
  { title: 'ended', of: ({ endedAt }) => (endedAt === undefined ? '' : `${span(now - endedAt)} ago`) },
  { title: 'what to do', of: ({ action }) => action, least: 12, paint: calm },
]

const paintOf = ({ severity, endedAt }: KeptAlert): ((text: string) => string) =>
  endedAt !== undefined ? good : severity === 'critical' ? bad : severity === 'warning' ? warn : calm
