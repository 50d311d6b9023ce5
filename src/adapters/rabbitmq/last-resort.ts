import type { About } from '../../contracts/journal.ts'
import type { Settlement } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Fate } from './batch.ts'
import type { Home } from './copies.ts'
import { TooLarge } from './too-large.ts'

/**
 * A letter, or a retry, that the broker will never take. Given back it would fail again for ever; so the broker is left to
 * bury the message as it is, which is no publish and has no limit. Its story can't travel with it: it is told.
 *
 * Not where the rules take something out of what dies, for the message still has it; nor where it only waits, and has
 * done nothing to die of.
 */
export const buriedRaw = (
  settlement: Settlement,
  fate: Exclude<Fate, 'kept'>,
  { net }: Home,
): { readonly error: Error; readonly about: About } | undefined => {
  if (!net || !(fate instanceof TooLarge)) return undefined
  const died = causeOf(settlement)
  if (died === undefined) return undefined
  const { service, topic, destination } = net
  const { id, type, extensions } = settlement.delivery.parcel.event
  const { correlationid: correlation } = extensions
  const what = settlement.do === 'bury' ? 'its letter' : 'its retry'
  const error = new ReprieveError(
    'bad_event',
    `event ${id}: ${what} can't be sent, so the broker moves the message as it is to '${destination}', without its story. It failed with: ${died}. ${fate.message.split('\n')[0]}`,
    { ...(fate.fix && { fix: fate.fix }), cause: fate },
  )
  return { error, about: { service, topic, type, event: id, ...(correlation && { correlation }) } }
}

const causeOf = (settlement: Settlement): string | undefined => {
  if (settlement.do === 'bury') return settlement.letter.redacted ? undefined : settlement.letter.error
  if (settlement.do !== 'later') return undefined
  const { trail } = settlement.parcel
  return trail.spent > settlement.delivery.parcel.trail.spent ? trail.records.at(-1)?.error : undefined
}
