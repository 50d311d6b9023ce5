import { describe, expect, it } from 'vitest'
import { classify } from './classify.ts'
import type { Category, Kind } from './failure.ts'
import { fromReply } from './replies.ts'

const found = (what: string, category: Category, kind: Kind = 'integration') => ({
  category,
  kind,
  because: `${what} is ${category}`,
})

describe('replies of mail servers', () => {
  const mailError = (responseCode: unknown, more: object = { command: 'RCPT TO' }) =>
    classify(Object.assign(new Error('no'), { responseCode, ...more }))

  it.each([
    [400, 'transient', 'integration'],
    [421, 'transient', 'integration'],
    [450, 'transient', 'integration'],
    [499, 'transient', 'integration'],
    [500, 'permanent', 'integration'],
    [503, 'transient', 'integration'],
    [530, 'permanent', 'auth'],
    [534, 'permanent', 'auth'],
    [535, 'permanent', 'auth'],
    [538, 'permanent', 'auth'],
    [550, 'permanent', 'integration'],
    [599, 'permanent', 'integration'],
  ] as const)('%i is %s, kind %s', (code, category, kind) => {
    const expected = found(`SMTP ${code}`, category, kind)
    expect(fromReply({ protocol: 'SMTP', code: String(code) })).toStrictEqual(expected)
    expect(mailError(code)).toMatchObject({ ...expected, code: String(code) })
    expect(mailError(code, { response: `${code} no` })).toMatchObject(expected)
  })

  it('other numbers, or a number alone, are none', () => {
    for (const code of ['200', '399', '600', 'x'])
      expect(fromReply({ protocol: 'SMTP', code })).toBeUndefined()
    expect(mailError(550, {})).toMatchObject({ category: 'unknown' })
    expect(mailError('550')).toMatchObject({ category: 'unknown' })
  })
})

describe('replies of AMQP brokers', () => {
  it.each([
    [311, ' (content too large)', 'permanent', 'integration'],
    [320, ' (connection forced)', 'transient', 'integration'],
    [402, ' (invalid path)', 'permanent', 'auth'],
    [403, ' (access refused)', 'permanent', 'auth'],
    [404, ' (not found)', 'permanent', 'integration'],
    [405, ' (resource locked)', 'transient', 'integration'],
    [406, ' (precondition failed)', 'permanent', 'integration'],
    [506, ' (resource error)', 'transient', 'integration'],
    [530, ' (not allowed)', 'permanent', 'auth'],
    [540, ' (not implemented)', 'permanent', 'integration'],
    [312, '', 'unknown', 'integration'],
    [541, '', 'unknown', 'integration'],
  ] as const)('%i%s is %s, kind %s', (code, what, category, kind) => {
    const expected = { ...found(`AMQP ${code}${what}`, category, kind), code: String(code) }
    expect(fromReply({ protocol: 'AMQP', code: String(code) })).toMatchObject(
      found(`AMQP ${code}${what}`, category, kind),
    )
    // as amqplib gives it: with numbers, or as a sentence
    expect(classify(Object.assign(new Error('no'), { code, methodId: 40, classId: 20 }))).toMatchObject(
      expected,
    )
    const spoken = `${code} (SOME-REASON) with message "no"`
    for (const message of [
      spoken,
      `Operation failed: QueueDeclare; ${spoken}`,
      `Channel closed by server: ${spoken}`,
    ]) {
      expect(classify(new Error(message))).toMatchObject(expected)
    }
  })

  it('a number alone, or another sentence, is none', () => {
    for (const more of [{ code: 404 }, { code: '404', methodId: 40 }, { code: 404, methodId: '40' }]) {
      expect(classify(Object.assign(new Error('no'), more)).category).toBe('unknown')
    }
    for (const message of [
      'it was 404 (NOT-FOUND) with message "no"',
      '604 (NOT-FOUND) with message "no"',
      '404 (not found) with message "no"',
      '404 (NOT-FOUND)',
    ]) {
      expect(classify(new Error(message)).because).toBe('nothing is known of such an error')
    }
  })
})

describe('replies of Kafka brokers, and words of its client', () => {
  const kafka = (code: string, canRetry?: boolean) => fromReply({ protocol: 'Kafka', code, canRetry })

  it.each([
    ['THROTTLING_QUOTA_EXCEEDED', 'rate-limited', 'integration'],
    ['REQUEST_TIMED_OUT', 'transient', 'timeout'],
    ['BROKER_NOT_AVAILABLE', 'transient', 'integration'],
    ['REBALANCE_IN_PROGRESS', 'transient', 'integration'],
    ['ILLEGAL_GENERATION', 'transient', 'integration'],
    ['UNKNOWN_MEMBER_ID', 'transient', 'integration'],
    ['MEMBER_ID_REQUIRED', 'transient', 'integration'],
    ['FENCED_MEMBER_EPOCH', 'transient', 'integration'],
    ['STALE_MEMBER_EPOCH', 'transient', 'integration'],
    ['NEW_LEADER_ELECTED', 'transient', 'integration'],
    ['TRANSACTION_ABORTABLE', 'transient', 'integration'],
    ['TOPIC_AUTHORIZATION_FAILED', 'permanent', 'auth'],
    ['GROUP_AUTHORIZATION_FAILED', 'permanent', 'auth'],
    ['SASL_AUTHENTICATION_FAILED', 'permanent', 'auth'],
    ['UNSUPPORTED_SASL_MECHANISM', 'permanent', 'auth'],
    ['PLT_KFK_AUTHENTICATION', 'permanent', 'auth'],
    ['MESSAGE_TOO_LARGE', 'permanent', 'integration'],
    ['RECORD_LIST_TOO_LARGE', 'permanent', 'integration'],
    ['INVALID_TOPIC_EXCEPTION', 'permanent', 'integration'],
    ['INVALID_RECORD', 'permanent', 'integration'],
    ['INVALID_TIMESTAMP', 'permanent', 'integration'],
    ['INVALID_REQUEST', 'permanent', 'integration'],
    ['INVALID_REQUIRED_ACKS', 'permanent', 'integration'],
    ['INVALID_CONFIG', 'permanent', 'integration'],
    ['POLICY_VIOLATION', 'permanent', 'integration'],
    ['UNSUPPORTED_VERSION', 'permanent', 'integration'],
    ['UNSUPPORTED_FOR_MESSAGE_FORMAT', 'permanent', 'integration'],
    ['UNSUPPORTED_COMPRESSION_TYPE', 'permanent', 'integration'],
    ['PLT_KFK_USER', 'permanent', 'integration'],
    ['PLT_KFK_UNSUPPORTED', 'permanent', 'integration'],
    ['PLT_KFK_UNSUPPORTED_API', 'permanent', 'integration'],
    ['PLT_KFK_UNSUPPORTED_FORMAT', 'permanent', 'integration'],
    ['PLT_KFK_UNSUPPORTED_COMPRESSION', 'permanent', 'integration'],
    ['INVALID_PRODUCER_EPOCH', 'unknown', 'integration'],
    ['SASL_AUTHENTICATION_FAILED_TWICE', 'unknown', 'integration'],
    ['PLT_KFK_AUTHENTICATION_OK', 'unknown', 'integration'],
  ] as const)('%s is %s, kind %s', (code, category, kind) => {
    expect(kafka(code)).toStrictEqual(found(`Kafka ${code}`, category, kind))
  })

  it('what the client may retry passes', () => {
    expect(kafka('NOT_LEADER_OR_FOLLOWER', true)).toStrictEqual(
      found('Kafka NOT_LEADER_OR_FOLLOWER', 'transient'),
    )
    expect(kafka('NOT_LEADER_OR_FOLLOWER', false)!.category).toBe('unknown')
  })

  it('what only wraps others says less than these', () => {
    expect(kafka('PLT_KFK_NETWORK')).toStrictEqual({
      ...found('Kafka PLT_KFK_NETWORK', 'transient'),
      weak: true,
    })
    for (const code of ['PLT_KFK_MULTIPLE', 'PLT_KFK_RESPONSE']) {
      expect(kafka(code, true)).toStrictEqual({ ...found(`Kafka ${code}`, 'unknown'), weak: true })
      const below = Object.assign(new Error('no'), { code: 'PLT_KFK_RESPONSE', apiId: 'INVALID_RECORD' })
      const error = Object.assign(new AggregateError([below], 'several'), { code })
      expect(classify(error)).toMatchObject({ because: 'Kafka INVALID_RECORD is permanent' })
    }
  })

  it('its errors are known by their code', () => {
    const error = (more: object) => classify(Object.assign(new Error('no'), more))
    expect(error({ code: 'PLT_KFK_RESPONSE', apiId: 'INVALID_RECORD' })).toMatchObject({
      because: 'Kafka INVALID_RECORD is permanent',
      code: 'INVALID_RECORD',
    })
    expect(error({ code: 'PLT_KFK_PROTOCOL', canRetry: true })).toMatchObject({
      because: 'Kafka PLT_KFK_PROTOCOL is transient',
    })
    expect(error({ code: 'PLT_KFK_PROTOCOL', canRetry: 'yes' })).toMatchObject({
      because: 'Kafka PLT_KFK_PROTOCOL is unknown',
    })
    expect(error({ code: 'MY_PLT_KFK_PROTOCOL', canRetry: true })).toMatchObject({
      because: 'nothing is known of such an error',
    })
  })
})

describe('replies of databases', () => {
  it('with the text where it matters', () => {
    expect(
      fromReply({ protocol: 'SQLSTATE', code: '0A000', text: 'cached plan must not change result type' }),
    ).toStrictEqual(found('SQLSTATE 0A000 (stale plan)', 'transient'))
    expect(fromReply({ protocol: 'SQLSTATE', code: '0A000' })).toStrictEqual(
      found('SQLSTATE 0A000 (not supported)', 'permanent'),
    )
    expect(fromReply({ protocol: 'SQLSTATE', code: 'XX000' })).toStrictEqual(
      found('SQLSTATE XX000', 'unknown'),
    )
    expect(fromReply({ protocol: 'SQLite', code: 'SQLITE_BUSY' })).toStrictEqual(
      found('SQLITE_BUSY', 'transient'),
    )
  })
})
