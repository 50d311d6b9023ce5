import type { Fact } from '../contracts/journal.ts'
import type { Instant } from '../core/time.ts'

/** As much as fits on a screen. */
const MOST = 40

/** What the journal was told, a line for each fact, for messages of failing tests. */
export const story = (facts: readonly Fact[], start: Instant): string => {
  if (facts.length === 0) return '  nothing happened'
  const shown = facts.slice(-MOST).map((fact) => `  ${since(fact.at - start)}  ${lineOf(fact)}`)
  const left = facts.length - shown.length
  return [...(left > 0 ? [`  (${left} facts before these)`] : []), ...shown].join('\n')
}

const since = (ms: number): string => `${`+${(ms / 1000).toFixed(3)}`.padStart(10)} s`

const lineOf = (fact: Fact): string => {
  const whom = 'event' in fact ? `${fact.service} ${fact.type} ${fact.event}: ` : ''
  return `${whom}${whatOf(fact)}`
}

const whatOf = (fact: Fact): string => {
  switch (fact.is) {
    case 'failed': {
      const { category, kind, name, message } = fact.failure
      return `attempt ${fact.attempt} failed, ${category} ${kind}: ${name}: ${message.split('\n')[0]}`
    }
    case 'retry':
      return `again in ${fact.delay} ms`
    case 'held':
      return `held for ${fact.delay} ms, ${fact.because}`
    case 'done':
      return `done, attempt ${fact.attempt}`
    case 'alone':
      return `runs alone, after ${fact.crashes} crashes`
    case 'dead':
      return `dead, ${fact.reason}, at ${fact.to}`
    case 'log':
      return `log: ${fact.text}`
    case 'published':
      return `${fact.count} published to ${fact.topic}`
    case 'trouble':
      return `trouble ${fact.where}: ${fact.error.message.split('\n')[0]}`
    case 'batch':
    case 'batch failed':
      return `${fact.service}: a batch of ${fact.size} for ${fact.handler}, ${fact.failed} failed`
    case 'notice':
      return fact.text
    default:
      return 'service' in fact && !('event' in fact) ? `${fact.service}: ${fact.is}` : fact.is
  }
}
