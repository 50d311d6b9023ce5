import type { About, Fact, Journal } from '../../contracts/journal.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Failure } from '../../core/failure.ts'
import { QUIET_JOBS } from '../../office/index.ts'
import { alertText } from './alert.ts'
import { withoutFix } from './fix.ts'
import { inert } from './inert.ts'
import { bad, calm, good, strong, warn } from './paint.ts'
import { createRepeats, type Told } from './repeats.ts'
import { sayJson } from './say.ts'
import { span, timeOfDay } from './time.ts'
import { padded } from './width.ts'

export type Loudness = 'all' | 'quiet'

/** Quiet is for those who want to hear only of what needs them. */
const QUIET: ReadonlySet<Fact['is']> = new Set([
  'dead',
  'batch failed',
  'breaker',
  'trouble',
  'notice',
  'alert raised',
  'alert ended',
])

/** A reader of the journal that writes a line per fact, for people. */
export const factLines = (write: (line: string) => void, loudness: Loudness): Journal => {
  // what failed is told before what becomes of it: one line says both
  const failed = new Map<string, Failure>()
  const repeats = createRepeats()
  return (fact) => {
    if (fact.is === 'trouble') {
      const { where, error, about, at } = fact
      const told = repeats(JSON.stringify([where, error.message, about?.event]), at)
      if (told) write(`${calm(timeOfDay(at))}  ${lineOf(fact, undefined)}${oftenText(told)}`)
      return
    }
    if (fact.is === 'failed') {
      if (failed.size < 10_000) failed.set(nameOf(fact), fact.failure)
      return
    }
    const failure = 'event' in fact ? failed.get(nameOf(fact)) : undefined
    if ('event' in fact) failed.delete(nameOf(fact))
    const line = loudness === 'all' || QUIET.has(fact.is) ? lineOf(fact, failure) : undefined
    if (line) write(`${calm(timeOfDay(fact.at))}  ${line}`)
  }
}

/** The same for programs: every fact, one JSON object a line. */
export const factJson: Journal = (fact) => sayJson(plainFact(fact))

/** A fact that survives JSON: an Error by itself would be written as {}. */
const plainFact = (fact: Fact): Record<string, unknown> => {
  if (fact.is !== 'trouble') return { ...fact }
  const { name, message } = fact.error
  const { code } = fact.error as NodeJS.ErrnoException
  return { ...fact, error: { name, message, ...(code !== undefined && { code }) } }
}

const nameOf = ({ service, topic, event }: About): string => JSON.stringify([service, topic, event])

const lineOf = (fact: Fact, failure: Failure | undefined): string | undefined => {
  switch (fact.is) {
    case 'started':
    case 'drained':
    case 'paused':
    case 'resumed':
      return `${verb(fact.is, strong)}${inert(fact.service)}`
    case 'done':
      return `${verb('done', good)}${who(fact)}  ${calm(`attempt ${fact.attempt}, ${span(fact.took)}`)}`
    case 'retry':
      return `${verb('retry', warn)}${who(fact)}  attempt ${fact.attempt} failed, again in ${span(fact.delay)}${why(failure)}`
    case 'held':
      return `${verb('held', warn)}${who(fact)}  ${inert(fact.because)}, again in ${span(fact.delay)}`
    case 'alone':
      return `${verb('alone', warn)}${who(fact)}  ${calm(`a process died that had it: ${fact.crashes}×`)}`
    case 'dead':
      return `${verb('dead', bad)}${who(fact)}  ${fact.reason} → ${inert(fact.to)}${why(failure)}`
    case 'duplicate':
    case 'stale':
    case 'busy':
    case 'skipped':
    case 'lost':
      return `${verb(fact.is, calm)}${who(fact)}`
    case 'log':
      return `${verb('log', calm)}${who(fact)}  ${inert(fact.text)}${fields(fact.fields)}`
    case 'replayed':
      return `${verb('replayed', strong)}${inert(fact.service)}  letter ${fact.letter}`
    case 'released': {
      const because = fact.reason === undefined ? '' : `  ${inert(fact.reason)}`
      return `${verb('released', strong)}letter ${fact.letter} from quarantine${because}`
    }
    case 'restored':
    case 'resolved':
    case 'discarded': {
      const because = fact.reason === undefined ? '' : `  ${inert(fact.reason)}`
      return `${verb(fact.is, strong)}${inert(fact.service)}  letter ${fact.letter}${because}`
    }
    case 'receipt':
      return `${verb('receipt', good)}letter ${inert(fact.letter)}  ${inert(fact.outcome)}`
    case 'trouble': {
      const again = fact.retryIn === undefined ? '' : `, again in ${span(fact.retryIn)}`
      const whose = fact.about ? `  ${who(fact.about)}` : ''
      const fix = fact.error instanceof ReprieveError && fact.error.fix
      const mending = fix ? `; fix: ${inert(fix)}` : ''
      return `${verb('trouble', bad)}${inert(fact.where)}: ${inert(withoutFix(fact.error))}${again}${whose}${mending}`
    }
    case 'breaker':
      return `${verb('breaker', fact.to === 'closed' ? good : warn)}${inert(fact.name)}  ${fact.from} → ${fact.to}`
    case 'alert raised':
    case 'alert ended': {
      const paint = fact.is === 'alert ended' ? good : fact.severity === 'critical' ? bad : warn
      const what = `${alertText(fact)}, ${fact.severity}`
      return `${verb(fact.is === 'alert ended' ? 'ended' : 'alert', paint)}${inert(fact.of)}  ${what}  ${calm(inert(fact.action))}`
    }
    case 'job':
      // somebody looks each minute: only what he sees is worth a line
      if (QUIET_JOBS.has(fact.name)) return undefined
      return `${verb('job', calm)}${inert(fact.name)}  ${calm(span(fact.took))}`
    case 'batch failed': {
      const what = `${fact.failed} of ${fact.size} failed${fact.timedOut ? ', it took too long' : ''}`
      const which = fact.batcher === undefined ? '' : `, batcher ${inert(fact.batcher)}`
      return `${verb('batch', fact.critical ? bad : warn)}${inert(fact.service)}  ${inert(fact.handler)}  ${what}${calm(`${which}, ${span(fact.took)}`)}`
    }
    case 'notice':
      return `${verb('notice', warn)}${inert(fact.text)}`
    default:
      return undefined
  }
}

const oftenText = ({ times, within }: Told): string =>
  times > 1 ? calm(`; ${times} times in ${span(within)}`) : ''

const verb = (word: string, paint: (text: string) => string): string => paint(padded(word, 11))

/** With the correlation id, where there is another than the event's own: it is what other systems' logs can be searched for. */
const who = ({ service, type, event, correlation }: About): string => {
  const story = correlation === undefined || correlation === event ? '' : ` of ${inert(correlation)}`
  return `${inert(service)}  ${inert(type)}  ${inert(event)}${story}`
}

const why = (failure: Failure | undefined): string =>
  failure ? `  ${calm(`${failure.category}: ${inert(failure.message)}`)}` : ''

const fields = (values: Readonly<Record<string, unknown>>): string =>
  Object.keys(values).length > 0 ? `  ${calm(inert(safeJson(values)))}` : ''

/** What a handler logs may go in circles or hold what JSON can't. */
const safeJson = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return '(fields that are no JSON)'
  }
}
