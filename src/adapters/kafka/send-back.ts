import type { Returning } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Outgoing } from './outgoing.ts'
import type { Post } from './post.ts'
import { addressOf, returningRecord } from './returning.ts'
import type { Topics } from './topics.ts'

interface Desk {
  readonly topics: Topics
  readonly post: Post
  /** Rejects where nobody has made it. */
  checkThere(topic: string): Promise<void>
}

/** Each topic is looked for first. What has none goes nowhere, and is in nobody's way. */
export const sendBack = async (
  messages: readonly Returning[],
  { topics, post, checkThere }: Desk,
): Promise<readonly (Error | undefined)[]> => {
  const answers: (Error | undefined)[] = messages.map(() => undefined)
  const asked = new Map<string, Promise<Error | undefined>>()
  const missing = (topic: string): Promise<Error | undefined> => {
    const answer = asked.get(topic) ?? checkThere(topic).then(() => undefined, asError)
    asked.set(topic, answer)
    return answer
  }
  const records: { readonly n: number; readonly record: Outgoing }[] = []
  for (const [n, message] of messages.entries()) {
    const address = addressOf(message)
    answers[n] = address ? await missing(address.topic) : nowhere(message.origin.to)
    if (!address || answers[n]) continue
    records.push({ n, record: returningRecord(message, address, topics.partitions(address.topic)) })
  }
  const sent = await post.send(records.map(({ record }) => record))
  for (const [i, { n }] of records.entries()) answers[n] = sent[i]
  return answers
}

const asError = (error: unknown): Error => error as Error

const nowhere = (to: string): ReprieveError =>
  new ReprieveError('unheard', `${to} is no place on Kafka`, {
    fix: 'replay it by the transport that it came from; or replay: queue or service under foreign in the rule book',
  })
