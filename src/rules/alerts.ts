import { type Alert, METRICS, type Metric, THRESHOLDS } from './builtin.ts'
import type { Picker } from './levels.ts'
import type { WrittenRules } from './schema.ts'

/** Each metric's nearest word counts as a whole; what it leaves out is built in. */
export const resolveAlerts = ({ pick, note }: Picker<WrittenRules>): readonly Alert[] =>
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
        severity: own?.severity ?? severity,
        action: own?.action ?? action,
      },
    ]
  })
