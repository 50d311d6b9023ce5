import { describe, expect, it } from 'vitest'
import { loadDriver } from './client.ts'
import { readUrl } from './settings.ts'

describe('a postgres URL', () => {
  it('says where, in which schema, and with how many connections', () => {
    const url =
      'postgres://ann:p%40ss@db.example:6543/shop?schema=mine&pool=2&timeout=500&poll=50&sslmode=require'
    expect(readUrl(url)).toEqual({
      connectionString: 'postgres://ann:p%40ss@db.example:6543/shop?sslmode=require',
      place: 'db.example:6543/shop',
      user: 'ann',
      schema: 'mine',
      pool: 2,
      timeout: 500,
      poll: 50,
    })
    expect(readUrl('postgresql://db')).toMatchObject({ place: 'db:5432', schema: 'reprieve', pool: 4 })
  })

  it.each([
    ['postgres://host/db?pol=1', "'?pol=' is not known"],
    ['postgres://u:4711/se@host/db', "'@' behind the host"],
    ['postgres://u:4711?se@host/db', "'@' behind the host"],
    ['postgres://host/d%zz', "has a '%' in it"],
    ['postgres://host/db?pool=0', "'?pool=' is no whole number from 1 to 100"],
    ['postgres://host/db?timeout=1', "'?timeout=' is no whole number"],
    ['postgres://host/db?poll=1s', "'?poll=' is no whole number"],
    ['postgres://host/db?schema=x;drop', "'?schema=' names a schema"],
    ['postgres:///db', 'there is no host in it'],
  ])('%s is refused: %s', (url, why) => {
    expect(() => readUrl(url)).toThrow(
      expect.objectContaining({ code: 'bad_url', message: expect.stringContaining(why) }),
    )
  })

  it('without the client names the command that installs it', async () => {
    await expect(loadDriver(() => Promise.reject(new Error('not found')))).rejects.toMatchObject({
      code: 'client_missing',
      fix: 'npm install pg@8',
    })
  })
})
