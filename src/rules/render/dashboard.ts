import type { Rules } from '../rules.ts'
import { grid, words } from './markdown.ts'
import { metricTitle, thresholdWords } from './phrases.ts'
import { namerOf } from './who.ts'

/** What each panel shows, and of which kind it is. */
const PANELS: Readonly<Partial<Record<string, { readonly shows: string; readonly panel: string }>>> = {
  retryRate: { shows: 'attempts that ended in a retry, of all attempts', panel: 'line per service, in %' },
  inflow: { shows: 'letters buried in a minute', panel: 'bars per destination' },
  lag: { shows: 'events that wait to be handled', panel: 'line per subscription' },
  lagAge: { shows: 'how long the oldest event waits', panel: 'line per subscription' },
  breakerOpen: { shows: 'how long a breaker has been open', panel: 'state over time, per dependency' },
  depth: { shows: 'letters not yet at an end', panel: 'line per destination' },
  oldest: { shows: 'age of the oldest open letter', panel: 'one figure per destination' },
  errorShare: { shows: 'share of the most frequent fingerprint', panel: 'shares of fingerprints' },
  batchTimeouts: { shows: 'batches that ran out of time, of all batches', panel: 'line per batcher, in %' },
  duplicates: { shows: 'events known to the ledger already, of all', panel: 'line per service, in %' },
  quarantined: { shows: 'letters in quarantine', panel: 'one figure per destination' },
  criticalBatches: { shows: 'batches that failed with critical events', panel: 'bars per service' },
}

/** One row for each threshold of each metric, with those it holds for. */
export const dashboardTable = (pairs: readonly Rules[]): string => {
  const nameOf = namerOf(pairs)
  const all = pairs.flatMap((rules) => rules.alerts.map((alert) => ({ alert, rules })))
  const order = [...new Set(all.map(({ alert }) => alert.metric))]
  const rows = [...Map.groupBy(all, ({ alert }) => JSON.stringify(alert)).values()]
    .map((same) => ({ alert: same[0]!.alert, who: same.map(({ rules }) => rules) }))
    .sort((a, b) => order.indexOf(a.alert.metric) - order.indexOf(b.alert.metric))
  return grid(
    ['panel', 'shows', 'drawn as', 'threshold', 'severity', 'for', 'first step'],
    rows.map(({ alert, who }) => [
      metricTitle(alert.metric),
      PANELS[alert.metric]?.shows ?? metricTitle(alert.metric),
      PANELS[alert.metric]?.panel ?? 'line per service',
      thresholdWords(alert),
      alert.severity,
      nameOf(who),
      words(alert.action),
    ]),
  )
}
