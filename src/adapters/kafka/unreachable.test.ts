import { expect, it } from 'vitest'
import { CODE } from './errors.ts'
import { readUrl } from './settings.ts'
import { mendingMeanwhile } from './unreachable.ts'

it('who was connected before is told how to mend what was said plainly, and nothing of a URL that was right once', () => {
  const settings = readUrl('kafka://bob:word@127.0.0.1:9092')
  const of = (more: object) =>
    mendingMeanwhile(new Error('fetching', { cause: Object.assign(new Error('x'), more) }), settings)
  expect(of({ code: 'ECONNREFUSED' })).toMatch(/^start Kafka/)
  expect(of({ apiCode: CODE.credentialsRefused })).toContain('REPRIEVE_KAFKA_PASSWORD')
  expect(of({ code: 'ECONNRESET' })).toBeUndefined()
  expect(of({})).toBeUndefined()
})
