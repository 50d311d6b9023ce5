import type { About } from '../../contracts/journal.ts'
import type { Settlement } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Fate } from './batch.ts'
import { unfit } from './carried.ts'
import type { Home } from './copies.ts'
import { TooLarge } from './too-large.ts'
import { type Outgoing, writeParcel } from './write.ts'

interface Told {
  readonly error: Error
  readonly about: About
}

/**
 * The letter of what can't be read, which the broker will never take. Nobody else could carry it, and given back it would
 * fail again for ever; so the broker is left to bury the message as it is, which is no publish and has no limit. Its story
 * is short, can't travel with it, and is told. Not where the rules took something out: the message still has it.
 */
export const buriedRaw = (
  settlement: Settlement,
  fate: Exclude<Fate, 'kept'>,
  { net }: Home,
): Told | undefined => {
  if (!net || !isUnreadable(settlement, fate) || settlement.letter.redacted) return undefined
  return toldOf(settlement, fate, net, `the broker moves the message as it is to '${net.destination}'`)
}

/**
 * Where the rules took something out, what is left of the event goes in place of its letter: the same bytes, which a
 * letter holds as text, a third larger. With why it is broken, and without the rest of its story, which is told.
 */
export const bareOf = (
  settlement: Settlement,
  fate: Fate,
  { net, burial }: Home,
): { readonly item: Outgoing; readonly told: Told } | undefined => {
  if (!net || fate === 'kept' || !isUnreadable(settlement, fate) || !settlement.letter.redacted)
    return undefined
  const { letter, to } = settlement
  const { event, trail } = letter
  const light = unfit(event) === undefined ? event : { ...event, extensions: {}, headers: {} }
  const item = writeParcel({ event: light, trail, due: 0 }, { exchange: burial, key: to }, letter.error)
  return { item, told: toldOf(settlement, fate, net, `what the rules leave of it goes to '${to}' by itself`) }
}

type Burial = Extract<Settlement, { readonly do: 'bury' }>

const isUnreadable = (settlement: Settlement, fate: Exclude<Fate, 'kept'>): settlement is Burial =>
  fate instanceof TooLarge && settlement.do === 'bury' && settlement.delivery.broken !== undefined

const toldOf = ({ letter }: Burial, fate: Exclude<Fate, 'kept'>, net: Net, so: string): Told => {
  const { id, type } = letter.event
  const { message, fix } = fate as TooLarge
  const error = new ReprieveError(
    'bad_event',
    `event ${id}: its letter can't be sent, so ${so}. It can't be read: ${letter.error}. ${message.split('\n')[0]}`,
    { ...(fix && { fix }), cause: fate },
  )
  return { error, about: { service: net.service, topic: net.topic, type, event: id } }
}

type Net = NonNullable<Home['net']>
