import type { Millis } from '../../core/time.ts'
import { commitAll } from './commits.ts'
import { CODE, hasCode } from './errors.ts'
import type { Tenure } from './holding.ts'
import type { Host } from './host.ts'
import { decodeMark } from './marks.ts'
import { listOffsets, type Membership, type Offsets, type Place, placeOf } from './offsets.ts'
import { MOST_SPAN, tenure } from './tenure.ts'
import type { Wire } from './wire.ts'
import { within } from './within.ts'

/** Then it is tried again, for as long as the partitions are ours. */
const ANSWER: Millis = 15_000

export interface From {
  /** The earliest record there is, whatever was committed. */
  readonly earliest?: boolean
  /** Not while a transaction of the last owner is open that would commit more: what it has moved would run twice. */
  readonly stable?: boolean
}

/**
 * Opens a tenure for each of the places: where the last owner stopped, or at the beginning of the log. Before
 * anything is handed over, that it will be is written down, so that the next owner knows after a crash. Those
 * that are held already are only written down anew.
 */
export const startTenures = async (
  wire: Wire,
  offsets: Offsets,
  as: Membership,
  host: Host,
  places: readonly Place[],
  held: ReadonlyMap<string, Tenure>,
  { earliest: fromEarliest = false, stable = false }: From = {},
): Promise<readonly Tenure[] | 'fenced'> => {
  const fresh = places.filter((place) => !held.has(placeOf(place)))
  const { ids, known, earliest } = await within(ANSWER, wire.tools.clock, async () => {
    const ids = await idsOf(wire, fresh)
    const told = fresh.length > 0 && !fromEarliest ? await offsets.committed(fresh, stable) : NOTHING
    const known = new Map(
      fresh.flatMap((place) => {
        const is = told.get(placeOf(place))
        return is && !isOfAnother(is, ids.get(place.topic)) ? [[placeOf(place), is] as const] : []
      }),
    )
    const unknown = fresh.filter((place) => !known.has(placeOf(place)))
    return { ids, known, earliest: await listOffsets(wire, unknown, 'earliest') }
  })
  if (fromEarliest && earliest.size < fresh.length) throw new Error('nobody tells where the log begins')
  const started = fresh.map(({ topic, partition }) => {
    const place = placeOf({ topic, partition })
    // where nobody tells, at its first offset: should that be gone, the leader says so once there is one
    const { offset, text } = known.get(place) ?? { offset: earliest.get(place) ?? 0, text: undefined }
    const parcels = host.carriesParcels(topic)
    const anything = { out: mayBeOut({ topic, parcels, suspects: 0 }, host), done: [] }
    // No commit at all: nobody has been here. One that is not ours rules nothing out.
    const nothing = fromEarliest ? anything : { out: 0, done: [] }
    const mark = text === undefined ? nothing : (decodeMark(text, offset) ?? anything)
    const { squeezes } = host
    return tenure({ topic, partition, topicId: ids.get(topic), parcels, offset, mark, squeezes })
  })
  const outcomes = await commitAll(
    offsets,
    [...held.values(), ...started],
    (each) => mayBeOut(each, host),
    as,
  )
  // who may not commit may not read either: fetching tells of it, and it stops nobody else
  const failed = [...outcomes.values()].find(
    (outcome) => outcome !== 'done' && !hasCode(outcome, CODE.topicNotAllowed),
  )
  if (failed === undefined) return started
  if (failed === 'fenced') return 'fenced'
  throw failed
}

type Told = Awaited<ReturnType<Offsets['committed']>>
const NOTHING: Told = new Map()

const idsOf = async ({ clerk }: Wire, places: readonly Place[]): Promise<ReadonlyMap<string, string>> => {
  const names = [...new Set(places.map(({ topic }) => topic))]
  if (names.length === 0) return new Map()
  const { topics } = await clerk.metadata({ topics: names, forceUpdate: true })
  return new Map(names.flatMap((name) => (topics.has(name) ? [[name, topics.get(name)!.id] as const] : [])))
}

/** It was committed, late, for a topic of that name which is there no more: of this one nothing was read. */
const isOfAnother = ({ offset, text }: { offset: number; text: string }, id: string | undefined): boolean => {
  const of = decodeMark(text, offset)?.of
  return of !== undefined && id !== undefined && of !== id
}

/** Of its unfinished records, in the order of the log. Parcels are handed over in the order they are due. */
export const mayBeOut = (
  { topic, parcels, suspects }: Pick<Tenure, 'topic' | 'parcels' | 'suspects'>,
  host: Host,
): number => (parcels ? MOST_SPAN : Math.max(suspects, host.window(topic)))
