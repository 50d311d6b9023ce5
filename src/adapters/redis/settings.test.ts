import { describe, expect, it } from 'vitest'
import { loadDriver } from './client.ts'
import { readUrl } from './settings.ts'

describe('a redis URL', () => {
  it('says where, which database, and under which prefix', () => {
    expect(readUrl('rediss://ann:p%40ss@cache.example:7000/3?prefix=mine&timeout=500')).toEqual({
      host: 'cache.example',
      port: 7000,
      tls: true,
      username: 'ann',
      password: 'p@ss',
      database: 3,
      place: 'cache.example:7000/3',
      prefix: 'mine',
      timeout: 500,
    })
    expect(readUrl('redis://cache')).toMatchObject({
      port: 6379,
      tls: false,
      database: 0,
      prefix: 'reprieve',
    })
  })

  it.each([
    ['redis://host?pre=1', "'?pre=' is not known"],
    ['redis://host/x', 'the database in it is no number'],
    ['redis://host?prefix={a}', "'?prefix=' is a word without braces"],
    ['redis://host?timeout=1', "'?timeout=' is no whole number"],
    ['redis://u:4711/se@host', "'@' behind the host"],
    ['redis://u:4711?se@host', "'@' behind the host"],
    ['redis://host?p$=1', 'a parameter in it is not known'],
    ['redis://u:%zz@host', "has a '%' in it"],
    ['redis:', 'this is not a redis:// or rediss:// URL'],
  ])('%s is refused: %s', (url, why) => {
    expect(() => readUrl(url)).toThrow(
      expect.objectContaining({ code: 'bad_url', message: expect.stringContaining(why) }),
    )
  })

  it('without the client names the command that installs it', async () => {
    await expect(loadDriver(() => Promise.reject(new Error('not found')))).rejects.toMatchObject({
      code: 'client_missing',
      fix: 'npm install @redis/client@6',
    })
  })
})
