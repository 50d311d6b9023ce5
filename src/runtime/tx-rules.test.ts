import { describe, expect, it } from 'vitest'
import { memoryTx, testApp } from '../testing/index.ts'

const YAML = `version: 1
services: { shop: { idempotency: { pattern: transaction } } }
`

describe('rules that ask for a transaction', () => {
  it('are refused where the app has no database for it', async () => {
    await using app = await testApp({ yaml: YAML })
    app.service('shop').on('order.placed', () => {})
    await expect(app.start()).rejects.toMatchObject({
      code: 'bad_rules',
      message: expect.stringContaining('shop handles order.placed'),
      fix: expect.stringContaining('postgresTx(pool)'),
    })
  })

  it('are refused for a batch handler, which has none', async () => {
    await using app = await testApp({ yaml: YAML, tx: memoryTx({}) })
    app.service('shop').onBatch('order.placed', () => {})
    await expect(app.start()).rejects.toMatchObject({
      code: 'bad_rules',
      message: expect.stringContaining('in batches'),
      fix: expect.stringContaining('handle it with on'),
    })
  })
})
