import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, test } from 'vitest'
import { virtualWorld } from '../../src/testing/trials/index.ts'
import { describeWith, serviceUrl } from '../services/urls.ts'
import { PATIENCE, waitingTools } from '../stores/waiting-tools.ts'
import { adapterOf, trialSuite } from './suite.ts'

describeWith('postgres', 'postgres', async (url) => {
  if (!serviceUrl('postgres')) return void test('trials', () => undefined)
  const schema = `trials_${randomBytes(6).toString('hex')}`
  afterAll(async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(`DROP SCHEMA ${schema} CASCADE`)
    await client.end()
  })
  const at = new URL(url)
  at.searchParams.set('schema', schema)
  at.searchParams.set('timeout', String(PATIENCE))
  // the server has its own time, and none of what is kept there depends on it
  await trialSuite('postgres', virtualWorld(await adapterOf('postgres'), at.href, waitingTools()))
})
