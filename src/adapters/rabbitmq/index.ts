import type { Open } from '../../contracts/adapter.ts'
import type { Tools } from '../../contracts/tools.ts'
import type { Address, Can, Inlet, Transport } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Fate } from './batch.ts'
import { checkCarried } from './carried.ts'
import { freshShared } from './channel-out.ts'
import { type Client, type Connection, isDown, loadClient, replyCode } from './client.ts'
import { parcelTo } from './copies.ts'
import { type Counts, freshCounts } from './counts.ts'
import { type Door, openInlet } from './inlet.ts'
import { openLink } from './link.ts'
import { checkTopic, exchangeOfDead, LONGEST_WAIT, queueOf, tierFor } from './names.ts'
import { openOutlet } from './outlet.ts'
import { sendBack } from './send-back.ts'
import { readUrl, type Settings } from './settings.ts'
import { declareDestination, declareOn, declareSubscription, waitingIn } from './topology.ts'
import { closedError, isUnavailable } from './unreachable.ts'
import { openWays } from './ways.ts'
import { writeEvent } from './write.ts'

export { doctor } from './doctor.ts'

/** What a tier's expiry and the way home through the broker may take, on a machine that is busy. */
const WAY_HOME = 250
/** How many letters an office has out at once. */
const COLLECTING = 250

const can: Can = {
  later: LONGEST_WAIT,
  late: (ms) => (ms <= 0 ? WAY_HOME : Math.max(0, tierFor(ms) - ms) + WAY_HOME),
  order: 'owner',
  lease: false,
  except: false,
  claims: false,
  patterns: true,
  fresh: false,
  urgent: false,
  unheard: 'refused',
}

export const open = (async (url, tools) => {
  const settings = readUrl(url, process.env)
  return { transport: await openTransport(await loadClient(), settings, tools) }
}) satisfies Open

/** Two connections: where the broker holds up a publisher, consumers must still be able to acknowledge. */
export const openTransport = async (
  client: Client,
  settings: Settings,
  tools: Tools,
): Promise<Transport & { readonly counts: Counts }> => {
  const { clock, journal } = tools
  const { place, exchange } = settings
  const counts = freshCounts()
  const linkOf = (whose: string) =>
    openLink(client, settings, tools, (error) =>
      journal({ is: 'trouble', at: clock.now(), where: `rabbitmq ${whose}`, error }),
    )
  const out = linkOf('publisher')
  const apart = () => linkOf('consumers')
  const into = apart()
  const outlet = openOutlet(out, exchange, tools, counts)
  const shared = freshShared()
  const copies = openWays(() => openOutlet(out, exchange, tools, counts, shared))
  const inlets = new Set<Inlet>()
  let closed = false

  await out.connection()
  if (settings.queue === 'classic') journal({ is: 'notice', at: clock.now(), text: classicLosses(place) })

  const openDoor = async (door: Door): Promise<Inlet> => {
    if (closed) throw closedError(place)
    const inlet = await openInlet(door, { shared: into, apart }, copies, tools, counts)
    if (closed) {
      await inlet.close()
      throw closedError(place)
    }
    inlets.add(inlet)
    return {
      ...inlet,
      close: () => {
        inlets.delete(inlet)
        return inlet.close()
      },
    }
  }

  return {
    name: 'rabbitmq',
    can,
    counts,
    publish: async (topic, events) => {
      checkTopic(topic)
      for (const event of events) checkCarried(event)
      const to = { exchange, key: topic }
      const fates = await outlet.send(events.map((event) => writeEvent(event, to)))
      raise(fates, () => unheard(topic, place))
    },
    subscribe: async (to) => {
      const queue = queueOf(to)
      const [first] = to.destinations
      const declare = declareSubscription(to, exchange, settings.queue)
      // the tiers after the queue, which is written down with them (topology.ts), and before anything is taken: what comes
      // while a service still starts only lies there, and is kept from others
      await declareOn(await into.connection(), clock, place, declare)
      await copies.foresee()
      return openDoor({
        queue,
        topic: to.topic,
        window: to.window,
        alone: to.order === 'key',
        burial: exchangeOfDead(queue),
        ...(first && { net: { service: to.service, topic: to.topic, destination: first.name } }),
        declare,
      })
    },
    collect: async (destination) =>
      openDoor({
        queue: destination.name,
        topic: destination.name,
        window: COLLECTING,
        burial: '',
        collects: true,
        declare: declareDestination(destination),
      }),
    forward: async (to, parcels) => {
      const queue = queueOf(to)
      const now = clock.now()
      const items = parcels.map((parcel) => parcelTo(queue, parcel, now))
      const home = (connection: Connection) =>
        waitingIn(queue, connection, clock, place).catch((error: Error) => {
          throw isMissing(error) ? unknownSubscription(to, queue, place) : error
        })
      // a tier takes it whether or not there is a home to come back to
      const waits = items.some(({ tier }) => tier !== undefined)
      const fates = waits ? await copies.send(items, home) : await outlet.send(items)
      raise(fates, () => unknownSubscription(to, queue, place))
    },
    sendBack: (messages) => sendBack(messages, outlet, clock, place),
    close: async () => {
      closed = true
      await Promise.all([...inlets].map((inlet) => inlet.close()))
      outlet.close()
      copies.close()
      await Promise.all([out.close(), into.close()])
    },
  }
}

const classicLosses = (place: string): string =>
  `RabbitMQ at ${place}: subscriptions use classic queues, which live on one node: while it is down they take and give nothing, with its disk their events are gone, and what a stranger rejects there can be lost on its way to the dead letters; drop '?queue=classic' for quorum queues`

const raise = (fates: readonly Fate[], unroutable: () => Error): void => {
  // what is wrong with one of them comes first: those that fell with it may be sent again
  const hopeless = fates.find((fate) => fate instanceof Error && !isUnavailable(fate))
  if (hopeless) throw hopeless
  for (const fate of fates) {
    if (fate === 'unroutable') throw unroutable()
    if (fate !== 'kept') throw fate
  }
}

const isMissing = ({ cause, message }: Error): boolean => replyCode(cause) === 404 && !isDown(message)

const unheard = (topic: string, place: string): ReprieveError =>
  new ReprieveError('unheard', `nobody is subscribed to the topic '${topic}' on RabbitMQ at ${place}`, {
    fix: `start a service with a handler for it once (its queue stays), or mend the topic's name`,
  })

const unknownSubscription = (to: Address, queue: string, place: string): ReprieveError =>
  new ReprieveError(
    'unknown_subscription',
    `the service '${to.service}' has no subscription to '${to.topic}': there is no queue '${queue}' on RabbitMQ at ${place}`,
    { fix: 'start that service once, which creates its queue, or mend its name' },
  )
