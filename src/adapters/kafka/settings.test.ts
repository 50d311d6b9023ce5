import { describe, expect, it } from 'vitest'
import type { ReprieveError } from '../../core/error.ts'
import { readUrl } from './settings.ts'

const refusal = (url: string): string => {
  try {
    readUrl(url)
  } catch (error) {
    expect((error as ReprieveError).code).toBe('bad_url')
    return (error as Error).message
  }
  throw new Error(`${url} was taken`)
}

describe('a kafka URL', () => {
  it('names one broker or several, with the usual port where none is named', () => {
    expect(readUrl('kafka://127.0.0.1:9093').brokers).toEqual(['127.0.0.1:9093'])
    expect(readUrl('kafka://a.example:1,b.example,[::1]:3/').brokers).toEqual([
      'a.example:1',
      'b.example:9092',
      '[::1]:3',
    ])
  })

  it('says how topics are made and how long a silent member is waited for', () => {
    const url = 'kafka://k:1?partitions=6&replication=3&session=30000&heartbeat=3000&tls=true'
    expect(readUrl(url)).toMatchObject({
      partitions: 6,
      replication: 3,
      session: 30_000,
      heartbeat: 3_000,
      tls: {},
    })
    expect(readUrl('kafka://k:1')).toMatchObject({ partitions: 3, replication: -1 })
    expect(readUrl('kafka://k:1?tls=false').tls).toBeUndefined()
  })

  it('carries credentials, percent-encoded', () => {
    expect(readUrl('kafka://ann:p%40ss%3Aword@k:1?sasl=scram-sha-512').sasl).toEqual({
      mechanism: 'SCRAM-SHA-512',
      username: 'ann',
      password: 'p@ss:word',
    })
    expect(readUrl('kafka://ann:x@k:1').sasl?.mechanism).toBe('PLAIN')
  })

  it('leaves credentials and files of TLS to the environment, where it names none', () => {
    const env = {
      REPRIEVE_KAFKA_USER: 'ann',
      REPRIEVE_KAFKA_PASSWORD: 'p@ss',
      REPRIEVE_KAFKA_CA: '/ca.pem',
    }
    expect(readUrl('kafka://k:1?sasl=scram-sha-256', env)).toMatchObject({
      sasl: { mechanism: 'SCRAM-SHA-256', username: 'ann', password: 'p@ss' },
      tls: { ca: '/ca.pem' },
    })
    expect(readUrl('kafka://bob:x@k:1?ca=/other.pem', env)).toMatchObject({
      sasl: { username: 'bob', password: 'x' },
      tls: { ca: '/other.pem' },
    })
    expect(readUrl('kafka://bob@k:1', env).sasl).toMatchObject({ username: 'bob', password: 'p@ss' })
    expect(readUrl('kafka://k:1?tls=false', env).tls).toBeUndefined()
    expect(refusal('kafka://k:1?cert=/a.pem')).toMatch(/needs both/)
    expect(refusal('kafka://k:1?tls=false&ca=/a.pem')).toMatch(/says tls=false/)
  })

  it('is refused with the reason, and never repeats the password', () => {
    expect(refusal('kafka://')).toMatch(/form/)
    expect(refusal('kafka://k:99999')).toMatch(/no host:port/)
    expect(refusal('kafka://k:1?partitons=3')).toMatch(/'\?partitons=' is not known/)
    expect(refusal('kafka://k:1?partitions=0')).toMatch(/at least 1/)
    expect(refusal('kafka://k:1?session=1000&heartbeat=900')).toMatch(/third/)
    expect(refusal('kafka://k:1?sasl=plain')).toMatch(/names no user/)
    for (const url of [
      'kafka://ann:s3cret@k:1?sasl=odd',
      'kafka://ann:s3cret@k:x',
      'kafka://ann:s3cret@',
      'kafka://ann:4711?s3cret@k:1',
      'kafka://ann:4711/s3cret@k:1',
      'kafka://ann:s3cret?tls=true@k:1',
      'kafka://k:1?s3cret$=1',
    ]) {
      expect(refusal(url)).not.toMatch(/s3cret|4711/)
    }
  })
})
