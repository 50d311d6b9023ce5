import { describe, expect, it } from 'vitest'
import { loadClient } from './client.ts'
import { readUrl } from './settings.ts'

describe('the URL', () => {
  it('says where, as whom, and what to use there', () => {
    const settings = readUrl('amqps://ann:s%40crit@mq.example.org/a%2Fb?exchange=e&queue=classic&heartbeat=5')
    expect(settings).toEqual({
      server: {
        protocol: 'amqps',
        hostname: 'mq.example.org',
        port: 5671,
        username: 'ann',
        password: 's@crit',
        vhost: 'a%2Fb',
        heartbeat: 5,
      },
      tls: {},
      place: 'mq.example.org:5671/a%2Fb',
      exchange: 'e',
      queue: 'classic',
    })
  })

  it('needs no more than a host', () => {
    expect(readUrl('amqp://[::1]')).toMatchObject({
      server: { hostname: '::1', port: 5672 },
      place: '[::1]:5672',
      exchange: 'reprieve.events',
      queue: 'quorum',
    })
  })

  it('names what belongs to TLS by files, and the environment where it names nothing', () => {
    const env = {
      REPRIEVE_RABBITMQ_USER: 'bob',
      REPRIEVE_RABBITMQ_PASSWORD: 'p%w',
      REPRIEVE_RABBITMQ_CA: '/etc/ca.pem',
    }
    expect(readUrl('amqps://mq', env)).toMatchObject({
      server: { username: 'bob', password: 'p%w' },
      tls: { ca: '/etc/ca.pem' },
    })
    const own = readUrl('amqps://ann:pw@mq?ca=/a.pem&cert=/c.pem&key=/k.pem', env)
    expect(own).toMatchObject({
      server: { username: 'ann', password: 'pw' },
      tls: { ca: '/a.pem', cert: '/c.pem', key: '/k.pem' },
    })
    // a CA for others says nothing of a connection that has no TLS
    expect(readUrl('amqp://mq', env).tls).toEqual({})
    expect(() => readUrl('amqps://mq?cert=/c.pem')).toThrow(/both '\?cert=' and '\?key='/)
    expect(() => readUrl('amqp://mq?ca=/a.pem')).toThrow(/is for amqps/)
    expect(() => readUrl('amqp://u:%zz@mq')).toThrow(/the password has a '%' in it/)
  })

  it('a password alone is that of the user whom everybody means who names none', () => {
    const guest = { server: { username: 'guest', password: 'pw' } }
    expect(readUrl('amqp://:pw@mq')).toMatchObject(guest)
    expect(readUrl('amqp://mq', { REPRIEVE_RABBITMQ_PASSWORD: 'pw' })).toMatchObject(guest)
  })

  it.each([
    'amqp://',
    'kafka://host',
    'nonsense',
    'amqp://u:hidden@host?que=classic',
    'amqp://u:hidden@host?queue=lazy',
    'amqp://u:hidden@host?heartbeat=often',
    'amqp://u:hidden@host?heartbeat=',
    'amqp://u:hidden@host?heartbeat=70000',
    'amqp://u:hidden@host/v%zz',
    'amqp://u:hidden@host/team#1',
    'amqp://u:hidden@host/team#',
    'amqp://u:4711?hidden@host/',
    'amqp://u:4711/hidden@host:5672/v',
    'amqp://u:4711#hidden@host',
    'amqp://u:pa/ss-hidden@host',
    'amqp://u:4711?hidden$=1',
    'amqp://u:4711?queue=hidden$',
  ])('%s is refused, and the password is not repeated', (url) => {
    let message = ''
    try {
      readUrl(url)
    } catch (error) {
      expect(error).toMatchObject({ code: 'bad_url' })
      message = (error as Error).message
    }
    expect(message).not.toBe('')
    expect(message).not.toMatch(/hidden|4711/)
  })
})

describe('the client library', () => {
  it('is an optional peer: where it is missing the error names the command', async () => {
    const missing = loadClient(() => Promise.reject(new Error("Cannot find package 'amqplib'")))
    await expect(missing).rejects.toMatchObject({ code: 'client_missing', fix: 'npm install amqplib@2' })
  })
})
