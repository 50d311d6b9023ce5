import type { KeptSendable } from '../contracts/letters.ts'
import type { Returning, Transport } from '../contracts/transport.ts'
import { EARLIER } from '../core/found.ts'
import type { Operation } from '../core/operation.ts'
import { currentEvent } from '../core/repair.ts'
import type { Instant } from '../core/time.ts'
import { byAddress, type Mended, publishedAnew, replayHeaders, replayParcel } from './replay.ts'

/** One way that letters go together, and whether they are at an end by that. */
export interface Way {
  readonly letters: readonly KeptSendable[]
  /** Whoever takes foreign ones, or events that are published anew, sends no receipts. */
  readonly ends: boolean
  go(): Promise<void>
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
      const go = () =>
        transport.publish(
          to.topic,
          some.map((each) => publishedAnew(each, id)),
        )
      return { letters: some, ends: true, go }
    }
    const door = target ? { ...to, service: target.service, consumerGroup: groupOf(target.service) } : to
    const go = () =>
      transport.forward(
        door,
        some.map((each) => replayParcel(each, receiptTo, at, anew)),
      )
    return { letters: some, ends: false, go }
  })
  if (theirs.length === 0) return ways
  return [...ways, { letters: theirs, ends: true, go: () => transport.sendBack!(theirs.flatMap(returning)) }]
}

const returning = ({ letter, repair }: Mended): readonly Returning[] => {
  const { id, origin } = letter
  if (!origin || 'nowhere' in origin) return []
  const event = currentEvent(letter, repair)
  return [{ origin, event, headers: { ...replayHeaders(letter), [EARLIER]: id } }]
}
