import type { Event } from './event.ts'

/** What makes two events the same one: their id, or their id and their correlation id. */
export type KeyChoice = 'id' | 'id+correlation'

type Named = Pick<Event, 'id' | 'extensions'>

/** What the ledger knows an event by. Escaped, so that no id with a plus passes for an id and a correlation id. */
export const ledgerIdOf = (key: KeyChoice, { id, extensions: { correlationid } }: Named): string => {
  if (key === 'id') return id
  const name = id.replaceAll('%', '%25').replaceAll('+', '%2B')
  return correlationid ? `${name}+${correlationid}` : name
}

const HEADER = 'x-idempotency-key'

/**
 * What an effect is known by downstream: the same for every attempt and replay, and another for what the ledger takes for
 * another event, or a dependency would swallow the second of two that both are to have their effect. A producer may
 * name it; the bare id, which every replay carries, says no more than the event itself.
 */
export const idempotencyKeyOf = (key: KeyChoice, event: Named & Pick<Event, 'headers'>): string => {
  const named = event.headers[HEADER]
  return named !== undefined && named !== event.id ? named : ledgerIdOf(key, event)
}
