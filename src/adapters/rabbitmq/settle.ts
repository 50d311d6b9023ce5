import type { About } from '../../contracts/journal.ts'
import type { Clock } from '../../contracts/tools.ts'
import type { Delivery, Settled, Settlement } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Fate } from './batch.ts'
import { replyCode } from './client.ts'
import { copyOf, type Home } from './copies.ts'
import { bareOf, buriedRaw } from './last-resort.ts'
import type { Outlet } from './outlet.ts'
import { type Handed, NONE, type Session, tagOf } from './session.ts'
import type { Outgoing } from './write.ts'

export interface Desk {
  readonly home: Home
  readonly outlet: Outlet
  readonly clock: Clock
  readonly place: string
  /** Declares again what burials need, where someone took it away. */
  mend(): Promise<void>
  tell(error: Error, about: About): void
}

/** New homes first, all of them at once; then the old ones are given up. */
export const settleOn = async (
  session: Session,
  batch: readonly Settlement[],
  { home, outlet, clock, place, mend, tell }: Desk,
): Promise<readonly Settled[]> => {
  const answers: Settled[] = new Array(batch.length).fill('done')
  const tags: number[] = new Array(batch.length).fill(NONE)
  const copies: Outgoing[] = []
  const owners: number[] = []
  const raw = new Set<number>()
  /** Those with a new home. */
  const kept = new Set<number>()
  const now = clock.now()
  batch.forEach((settlement, i) => {
    const { delivery } = settlement
    tags[i] = tagOf(delivery, session)
    if (tags[i] === NONE) {
      answers[i] = 'lost'
      return
    }
    try {
      const copy = copyOf(settlement, home, now)
      hold(delivery, NONE) // whoever settles it meanwhile has lost it
      if (!copy) return
      copies.push(copy)
      owners.push(i)
    } catch (error) {
      answers[i] = error as Error
    }
  })
  /** In place of letters that can't be sent. */
  const sendBare = async (fates: Fate[]): Promise<void> => {
    const some = fates.flatMap((fate, n) => {
      const bare = bareOf(batch[owners[n]!]!, fate, home)
      return bare ? [{ ...bare, n }] : []
    })
    const went = await outlet.send(some.map(({ item }) => item))
    for (const [i, { n, told }] of some.entries()) {
      if (went[i] !== 'kept') continue
      fates[n] = 'kept'
      tell(told.error, told.about)
    }
  }
  if (copies.length > 0) {
    const fates = [...(await outlet.send(copies))]
    await sendBare(fates)
    if (fates.some((fate, n) => isGone(fate, copies[n]!, home))) await mend()
    fates.forEach((fate, n) => {
      const i = owners[n]!
      if (fate === 'kept') {
        kept.add(i)
        return
      }
      const told = session.ended() ? undefined : buriedRaw(batch[i]!, fate, home)
      if (told) {
        raw.add(i)
        tell(told.error, told.about)
        return
      }
      answers[i] = session.ended() ? 'lost' : failure(fate, copies[n]!, place)
      hold(batch[i]!.delivery, tags[i]!) // still ours: it may be settled again
    })
  }
  giveUp(session, batch, tags, answers, raw, kept)
  return answers
}

/** The way to the destinations is not there any more: no queue took it, or the exchange was not found. */
const isGone = (fate: Fate, { exchange }: Outgoing, { burial }: Home): boolean => {
  if (fate === 'kept' || exchange !== burial || burial === '') return false
  return fate === 'unroutable' || replyCode(fate.cause) === 404
}

const hold = (delivery: Delivery, tag: number): void => {
  const handed = delivery as Handed
  handed.tag = tag
}

const giveUp = (
  session: Session,
  batch: readonly Settlement[],
  tags: readonly number[],
  answers: Settled[],
  raw: ReadonlySet<number>,
  kept: ReadonlySet<number>,
): void => {
  const acked: number[] = []
  const rejected: number[] = []
  const returned: number[] = []
  for (let i = 0; i < batch.length; i++) {
    if (answers[i] !== 'done') continue
    // what has a new home was settled: that its original comes again is known to the ledger
    if (session.ended()) answers[i] = kept.has(i) ? 'done' : 'lost'
    else if (raw.has(i)) rejected.push(tags[i]!)
    else (batch[i]!.do === 'give back' ? returned : acked).push(tags[i]!)
  }
  // returns first: an acknowledgement may stand for all before it
  if (returned.length > 0) session.giveBack(returned)
  if (rejected.length > 0) session.reject(rejected)
  if (acked.length > 0) session.acknowledge(acked)
}

const failure = (fate: Exclude<Fate, 'kept'>, { exchange, key }: Outgoing, place: string): Error => {
  if (fate instanceof Error) return fate
  const what = `no queue takes '${key}' from ${exchange ? `'${exchange}'` : 'the default exchange'}`
  return new ReprieveError('topology_differs', `RabbitMQ at ${place}: ${what}`, {
    fix: 'whatever the rules name as a destination is declared again; for another name, mend the rules and restart the service',
  })
}
