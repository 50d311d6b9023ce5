import type { About } from '../../contracts/journal.ts'
import type { Settlement } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Fate } from './batch.ts'
import type { Home } from './copies.ts'
import { TooLarge } from './too-large.ts'

/**
 * The letter of what can't be read, which the broker will never take. Nobody else could carry it, and given back it would
 * fail again for ever; so the broker is left to bury the message as it is, which is no publish and has no limit. Its story
 * is short, can't travel with it, and is told. Not where the rules took something out: the message still has it.
 */
export const buriedRaw = (
  settlement: Settlement,
  fate: Exclude<Fate, 'kept'>,
  { net }: Home,
): { readonly error: Error; readonly about: About } | undefined => {
  const { broken, parcel } = settlement.delivery
  if (!net || broken === undefined || !(fate instanceof TooLarge)) return undefined
  if (settlement.do !== 'bury' || settlement.letter.redacted) return undefined
  const { service, topic, destination } = net
  const { id, type } = parcel.event
  const error = new ReprieveError(
    'bad_event',
    `event ${id}: its letter can't be sent, so the broker moves the message as it is to '${destination}'. It can't be read: ${broken}. ${fate.message.split('\n')[0]}`,
    { ...(fate.fix && { fix: fate.fix }), cause: fate },
  )
  return { error, about: { service, topic, type, event: id } }
}
