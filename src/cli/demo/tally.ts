import type { Journal } from '../../contracts/journal.ts'
import type { LetterState } from '../../contracts/letters.ts'
import type { Office } from '../../office/index.ts'
import type { MailServer } from './smtp-server.ts'

/** Where every accepted event is. Each number is counted by someone else, so that a lost event would show. */
export interface Tally {
  /** By the publisher: how often publish resolved. */
  readonly accepted: number
  /** By the mail server: which mails it took. */
  readonly done: number
  /** By the journal: published or to be tried again, and not begun. */
  readonly waiting: number
  /** By the office: letters that are not at an end. */
  readonly dead: number
  /** By the handlers: begun and not settled. */
  readonly inFlight: number
}

export const addsUp = ({ accepted, done, waiting, dead, inFlight }: Tally): boolean =>
  accepted === done + waiting + dead + inFlight

const NOT_ENDED: readonly LetterState[] = ['open', 'replaying']

export interface Counter {
  readonly accept: (event: string) => void
  readonly begin: (event: string) => void
  /** Reads along what becomes of them. */
  readonly read: Journal
  /** Nothing waits and nothing is in flight. */
  quiet(): boolean
  take(office: Office, server: MailServer): Promise<Tally>
}

export const createCounter = (): Counter => {
  const accepted = new Set<string>()
  const waiting = new Set<string>()
  const inFlight = new Set<string>()
  /** An attempt may be over before publish has answered: such an event is not put back among the waiting. */
  const seen = new Set<string>()
  return {
    accept: (event) => {
      accepted.add(event)
      if (!seen.has(event)) waiting.add(event)
    },
    begin: (event) => {
      seen.add(event)
      waiting.delete(event)
      inFlight.add(event)
    },
    read: (fact) => {
      if (!('event' in fact) || fact.is === 'log' || fact.is === 'failed') return
      seen.add(fact.event)
      inFlight.delete(fact.event)
      if (fact.is === 'retry' || fact.is === 'held') waiting.add(fact.event)
      else waiting.delete(fact.event)
    },
    quiet: () => waiting.size === 0 && inFlight.size === 0,
    take: async (office, { taken }) => ({
      accepted: accepted.size,
      done: [...taken.keys()].filter((id) => accepted.has(id)).length,
      waiting: waiting.size,
      dead: await office.count({ states: NOT_ENDED }),
      inFlight: inFlight.size,
    }),
  }
}
