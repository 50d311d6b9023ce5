import type { About } from '../contracts/journal.ts'
import type { Event } from '../core/event.ts'

/** Whom a fact is about. The correlation id is always told, so that one story can be followed through services. */
export const about = (service: string, topic: string, { id: event, type, extensions }: Event): About => {
  const { correlationid: correlation } = extensions
  return correlation === undefined
    ? { service, topic, type, event }
    : { service, topic, type, event, correlation }
}
