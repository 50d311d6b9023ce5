import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWith } from '../../../test/services/urls.ts'
import { acts, doBoth } from '../../../test/stores/model.ts'
import { type Desk, deskAt } from '../../../test/stores/redis.ts'

describeWith('redis', 'the ledger in Redis', (url) => {
  let desk: Desk
  beforeAll(async () => {
    desk = await deskAt(url)
  })
  afterAll(() => desk.close())

  it('answers what claimRow and finishRow say, whatever was asked before', async () => {
    const { ledger } = await desk.open()
    await fc.assert(
      fc.asyncProperty(acts, async (script) => {
        const said = await doBoth(ledger, desk.name('service'), script, desk.clock)
        expect(said.real).toEqual(said.model)
      }),
    )
  })
})
