import type { About } from '../contracts/journal.ts'
import type { Event } from '../core/event.ts'

/** Whom a fact is about. The correlation id is always told, so that one story can be followed through services. */
export const about = (service: string, topic: string, event: Event): About => ({
  service,
  topic,
  type: event.type,
  event: event.id,
  ...(event.extensions.correlationid !== undefined && { correlation: event.extensions.correlationid }),
})
