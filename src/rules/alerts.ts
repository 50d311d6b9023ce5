import { type Alert, METRICS, type Metric, THRESHOLDS } from './builtin.ts'
import type { Picker } from './levels.ts'
import type { WrittenRules } from './schema.ts'

/** Each metric's nearest word counts as a whole; what it leaves out is built in. */
export const resolveAlerts = (from: Picker<WrittenRules>): readonly Alert[] => {
  if (from.noting || from.levels.some(({ says }) => says.alerts !== undefined)) return alertsFrom(from)
  return BUILT_IN
}

const alertsFrom = ({ pick, note }: Pick<Picker<WrittenRules>, 'pick' | 'note'>): readonly Alert[] =>
  (Object.keys(METRICS) as Metric[]).flatMap((metric): readonly Alert[] => {
    const path = `alerts.${metric}`
    const own = pick(path, (says) => says.alerts?.[metric])
    if (own === 'off') return []
    const { unit, severity, action } = METRICS[metric]
    const threshold = own?.from ?? own?.above ?? THRESHOLDS[metric]
    if (threshold === undefined) return []
    if (own === undefined) note(path, 'built in')
    return [
      {
        metric,
        unit,
        over: own?.from === undefined ? '>' : '>=',
        threshold,
        ...(own?.atLeast !== undefined && { atLeast: own.atLeast }),
        ...(own?.for !== undefined && { hold: own.for }),
        ...(own?.calm !== undefined && { calm: own.calm }),
        severity: own?.severity ?? severity,
        action: own?.action ?? action,
      },
    ]
  })

/** Most books leave them as they are: one list for all. */
const BUILT_IN = alertsFrom({ pick: () => undefined, note: () => {} } as unknown as Picker<WrittenRules>)
