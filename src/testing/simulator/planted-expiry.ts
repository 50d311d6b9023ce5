import type { Event } from '../../core/event.ts'
import type { Plant } from './plant.ts'

const withoutEnd = ({ extensions: { expirytime: _, ...extensions }, ...event }: Event): Event => ({
  ...event,
  extensions,
})

/** Bugs that let things be handled after their time. */
export const EXPIRY_BUGS: readonly Plant[] = [
  {
    name: 'expiry lost',
    what: 'an event loses the time until which it is worth handling',
    breaks: ['expiry'],
    transport: (transport) => ({
      ...transport,
      publish: (topic, events) => transport.publish(topic, events.map(withoutEnd)),
    }),
  },
  {
    name: 'ttl ignored',
    what: 'an event is handled however old it is',
    breaks: ['expiry'],
    book: (yaml) => yaml.replace(/ttl: \d+ms/, 'ttl: 1000d'),
  },
  {
    name: 'expired replayed',
    what: 'a replay takes what is expired along, though nobody asked for it',
    breaks: ['expiry'],
    although: ['expired'],
  },
]
