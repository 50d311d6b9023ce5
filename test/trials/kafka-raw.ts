import { Producer } from '@platformatic/kafka'
import type { TrialWorld } from '../../src/testing/trials/index.ts'

/** Writes straight to the topic, as a producer that knows nothing of us could. */
export const rawPut = (brokers: string) => {
  const producer = new Producer({
    clientId: 'trials',
    bootstrapBrokers: brokers.split(','),
    // once, though the wire may be cut before the answer
    idempotent: true,
    retries: 5,
  })
  const put: NonNullable<TrialWorld['raw']>['put'] = async ({ topic }, { contentType, headers, body }) => {
    const all = { ...headers, ...(contentType && { 'content-type': contentType }) }
    const bytes = new Map(Object.entries(all).map(([name, value]) => [Buffer.from(name), Buffer.from(value)]))
    await producer.send({ messages: [{ topic, value: Buffer.from(body ?? []), headers: bytes }], acks: -1 })
  }
  return { put, close: () => producer.close() }
}
