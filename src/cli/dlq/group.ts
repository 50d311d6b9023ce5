import { type Instant, iso } from '../../core/time.ts'
import type { LetterGroup } from '../../office/index.ts'
import { inertLines } from '../print/inert.ts'
import { bad, strong } from '../print/paint.ts'
import { spark } from '../print/spark.ts'
import { span } from '../print/time.ts'
import { growthText, marksOf } from './groups.ts'
import { facts } from './letter.ts'

/** A group as an operator reads it: what it is, whether it grows, who is on it, and where to look next. */
export const groupText = (
  group: LetterGroup & { readonly trend: readonly number[] },
  now: Instant,
): string => {
  const marks = marksOf(group)
  const states = Object.entries(group.states).map(([state, count]) => `${count} ${state}`)
  const ago = (at: Instant) => `${iso(at)}, ${span(now - at)} ago`
  return [
    `${strong(group.fingerprint)}  ${group.open} open of ${group.total}${marks === '' ? '' : `, ${marks}`}`,
    bad(inertLines(group.error)),
    facts([
      ['services', group.services.join(', ')],
      ['topics', group.topics.join(', ')],
      ['events', group.types.join(', ')],
      ['failure', [...group.categories, ...group.kinds, ...group.codes].join(', ')],
      ['criticality', group.criticality],
      ['letters', states.join(', ')],
      ['first seen', ago(group.firstAt)],
      ['last seen', ago(group.lastAt)],
      ['last hour', growthText(group)],
      ['last day', spark(group.trend)],
      ['owner', group.owner ?? 'nobody'],
      ...(group.ticket === undefined ? [] : [['ticket', group.ticket] as const]),
      ...(group.note === undefined ? [] : [['note', group.note] as const]),
      ...(group.snoozed ? [['snoozed until', iso(group.snoozedUntil!)] as const] : []),
      ['newest letter', group.sample],
    ]),
  ].join('\n\n')
}
