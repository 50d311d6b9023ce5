import type { KeptSendable } from '../contracts/letters.ts'
import type { Returning, Transport } from '../contracts/transport.ts'
import { EARLIER } from '../core/found.ts'
import type { Operation } from '../core/operation.ts'
import type { Origin } from '../core/origin.ts'
import { currentEvent } from '../core/repair.ts'
import type { Instant } from '../core/time.ts'
import { byAddress, type Mended, publishedAnew, replayHeaders, replayParcel } from './replay.ts'

/** One way that letters go together, and whether they are at an end by that. */
export interface Way {
  readonly letters: readonly KeptSendable[]
  /** Whoever takes foreign ones, or events that are published anew, sends no receipts. */
  readonly ends: boolean
  /** Answers with why, at its place, for each that is not known to be on its way; it never rejects. */
  go(): Promise<readonly (Error | undefined)[]>
}

export interface Going {
  readonly transport: Transport
  readonly receiptTo: string
  readonly at: Instant
  readonly operation: Operation
  /** The consumer group of a service. */
  readonly groupOf: (service: string) => string
}

/** Letters on their way back: ours to the subscription that failed, or as was asked; others to where they came from. */
export const waysOf = (letters: readonly KeptSendable[], going: Going): readonly Way[] => {
  const { transport, receiptTo, at, groupOf } = going
  const { id, plan } = going.operation
  const { to: target } = plan
  const anew = plan.although.includes('already done') ? id : undefined
  const theirs = target === undefined ? letters.filter(({ letter }) => letter.origin !== undefined) : []
  const ours = letters.filter((each) => !theirs.includes(each))
  const ways = byAddress(ours).map(({ to, letters: some }): Way => {
    if (target === 'topic') {
      const events = () => some.map((each) => publishedAnew(each, id))
      return {
        letters: some,
        ends: true,
        go: () => together(some, () => transport.publish(to.topic, events())),
      }
    }
    const door = target ? { ...to, service: target.service, consumerGroup: groupOf(target.service) } : to
    const parcels = () => some.map((each) => replayParcel(each, receiptTo, at, anew))
    return { letters: some, ends: false, go: () => together(some, () => transport.forward(door, parcels())) }
  })
  if (theirs.length === 0) return ways
  const go = () => apart(theirs, () => transport.sendBack!(theirs.map(returning)))
  return [...ways, { letters: theirs, ends: true, go }]
}

type Answers = Awaited<ReturnType<Way['go']>>

const apart = (letters: readonly unknown[], send: () => Promise<Answers>): Promise<Answers> =>
  send().catch((error: Error) => letters.map(() => error))

/** What is refused of some that have one address is refused of all. */
const together = (letters: readonly unknown[], send: () => Promise<void>): Promise<Answers> =>
  apart(letters, async () => {
    await send()
    return []
  })

/** Those that can go nowhere were skipped before. */
const returning = ({ letter, repair }: Mended): Returning => ({
  origin: letter.origin as Origin,
  event: currentEvent(letter, repair),
  headers: { ...replayHeaders(letter), [EARLIER]: letter.id },
})
