import { randomBytes } from 'node:crypto'
import { createClient } from '@redis/client'
import { afterAll, test } from 'vitest'
import { virtualWorld } from '../../src/testing/trials/index.ts'
import { describeWith, serviceUrl } from '../services/urls.ts'
import { adapterOf, trialSuite } from './suite.ts'

describeWith('redis', 'redis', async (url) => {
  if (!serviceUrl('redis')) return void test('trials', () => undefined)
  const prefix = `trials-${randomBytes(6).toString('hex')}`
  afterAll(async () => {
    const client = await createClient({ url }).connect()
    for await (const keys of client.scanIterator({ MATCH: `${prefix}:*` })) {
      if (keys.length > 0) await client.del(keys)
    }
    client.destroy()
  })
  const at = new URL(url)
  at.searchParams.set('prefix', prefix)
  // the server has its own time, and none of what is kept there depends on it
  await trialSuite('redis', virtualWorld(await adapterOf('redis'), at.href))
})
