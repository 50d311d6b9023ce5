import { expect, it } from 'vitest'
import { ReprieveError } from './error.ts'

it('says what is wrong, and how to mend it', () => {
  const cause = new Error('below')
  const error = new ReprieveError('bad_url', "no adapter knows 'amq://'", { fix: "write 'amqp://'", cause })
  expect(error).toBeInstanceOf(Error)
  expect(error).toMatchObject({ name: 'ReprieveError', code: 'bad_url', fix: "write 'amqp://'" })
  expect(error.message).toBe("no adapter knows 'amq://'\n  fix: write 'amqp://'")
  expect(error.cause).toBe(cause)
})

it('needs neither fix nor cause', () => {
  const error = new ReprieveError('closed', 'the transport is closed')
  expect(error.message).toBe('the transport is closed')
  expect(error.fix).toBeUndefined()
  expect(error.cause).toBeUndefined()
})
