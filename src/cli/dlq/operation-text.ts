import { systemClock } from '../../adapters/system/clock.ts'
import type { KeptOperation } from '../../contracts/operations.ts'
import { type ItemState, isLive } from '../../core/operation.ts'
import { iso } from '../../core/time.ts'
import { decisionsOf } from '../../office/index.ts'
import { inert } from '../print/inert.ts'
import { bad, calm, good, strong, warn } from '../print/paint.ts'
import { bar } from '../print/progress.ts'
import { facts } from './letter.ts'

const ENDS: readonly ItemState[] = ['resolved', 'dead again', 'purged', 'failed']

export const totalOf = ({ counts }: KeptOperation): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0)

/** An operation as an operator reads it. */
export const operationText = (kept: KeptOperation, now = systemClock.now()): string => {
  const { operation, holder } = kept
  const { id, kind, state, since, paused, by, at, reason, chosen, plan, hash, until, approval, because } =
    operation
  const { found = {} } = operation
  const { canary, rate, batch, to, although } = plan
  const how = [
    canary && `${canary.size} canaries first, at most ${Math.round(canary.deaths * 100)}% of them dead again`,
    `${batch} at a time`,
    rate !== undefined && `${rate} a second`,
    to !== undefined && `to ${to === 'topic' ? 'the topic' : to.service}`,
    although.length > 0 && `although ${although.join(', ')}`,
  ].filter((part) => typeof part === 'string')
  const rows: (readonly [string, string])[] = [
    ['asked for by', `${by}, ${iso(at)}${reason === undefined ? '' : `: ${reason}`}`],
    ['chosen by', JSON.stringify(chosen)],
    ['set', `${totalOf(kept)} letters, ${hash ?? 'not frozen yet'}`],
    ...(tells(found) ? [['in states', statesText(found)] as const] : []),
    ['how', how.join('; ')],
  ]
  if (approval) rows.push(['approved by', `${approval.by}, ${iso(approval.at)}`])
  if (until !== undefined && isLive(state)) rows.push(['until', iso(until)])
  if (paused)
    rows.push(['paused by', `${paused.by}${paused.because === undefined ? '' : `: ${paused.because}`}`])
  if (because !== undefined) rows.push(['because', because])
  const waits = state === 'frozen' || state === 'needs approval'
  if (holder && holder.until > now && isLive(state) && !waits) rows.push(['worked on by', holder.name])
  return [
    `${strong(id)}  ${kind}, ${stateText(kept)} since ${iso(since)}`,
    facts(rows),
    countsText(kept),
  ].join('\n\n')
}

/** That all are open is what one expects. */
const tells = (found: Found): boolean => Object.keys(found).some((state) => state !== 'open')
const statesText = (found: Found): string =>
  Object.entries(found)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ')

type Found = NonNullable<KeptOperation['operation']['found']>

export const stateText = ({ operation: { state, paused } }: KeptOperation): string => {
  const text = paused && isLive(state) ? `${state}, paused` : state
  if (state === 'done') return good(text)
  if (state === 'stopped' || state === 'cancelled') return bad(text)
  return paused || state === 'needs approval' ? warn(text) : text
}

/** What would be done with how many, and why not with the others. */
export const countsText = (kept: KeptOperation): string => {
  const decided = Object.entries(decisionsOf(kept)).map(([word, count]) => `${count} ${inert(word)}`)
  return decided.length === 0 ? calm('no letter fits') : decided.join('\n')
}

/** In one line, for who watches: how far it is, and how long it will take. */
export const progressText = (kept: KeptOperation, now: number): string => {
  const { counts, operation } = kept
  const { skipped, waiting, sending, sent } = counts
  const total = totalOf(kept) - skipped
  const ended = ENDS.map((state) => [state, counts[state]] as const).filter(([, count]) => count > 0)
  const parts = [
    `${total - waiting} of ${total}`,
    ...ended.map(([state, count]) => `${count} ${state}`),
    ...(sending + sent > 0 ? [`${sending + sent} on the way`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ]
  // by what left since it goes at its pace: neither canaries that were waited for nor a pause tell how fast it is
  const { at, left } = operation.pace ?? { at: operation.since, left: 0 }
  const done = total - waiting - left
  const took = now - at
  const rest =
    operation.state === 'ramp' && !operation.paused && done > 0 && waiting > 0 && took > 2000
      ? `, about ${Math.max(1, Math.round(((took / done) * waiting) / 1000))} s left`
      : ''
  return `${operation.paused ? 'paused' : operation.state}: ${parts.join(', ')}${rest}`
}

export const barOf = (kept: KeptOperation): string => {
  const { skipped, waiting } = kept.counts
  const total = totalOf(kept) - skipped
  return bar(total - waiting, total)
}
