import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWith } from '../../../test/services/urls.ts'
import { type Desk, deskAt } from '../../../test/stores/postgres.ts'

describeWith('postgres', 'the tables in PostgreSQL', (url) => {
  let desk: Desk
  beforeAll(async () => {
    desk = await deskAt(url)
  })
  afterAll(() => desk.close())

  it('are made once, though many open at the same time', async () => {
    const stores = await Promise.all(Array.from({ length: 12 }, () => desk.open({ pool: '1' })))
    expect(await stores[0]!.board.post('here', 1, 1000)).toBe(true)
    expect(await stores[11]!.board.read('here')).toMatchObject([{ value: 1 }])
    const made = await desk.ask(
      `SELECT table_name FROM information_schema.tables WHERE table_schema = '${desk.schema}' ORDER BY 1`,
    )
    expect(made.map(({ table_name }) => table_name)).toEqual(['board', 'ledger', 'meta'])
  })

  it('of another version are refused, with what to do', async () => {
    await desk.open()
    await desk.ask(`UPDATE ${desk.schema}.meta SET value = 99`)
    await expect(desk.open()).rejects.toMatchObject({
      code: 'topology_differs',
      message: expect.stringMatching(
        /of version 99, and this program knows \d+\n {2}fix: run the same version/,
      ),
    })
    await desk.ask(`UPDATE ${desk.schema}.meta SET value = 1`)
  })

  it('that the user may not make are asked for in words', async () => {
    const user = `poor_${desk.schema}`
    await desk.ask(`CREATE ROLE ${user} LOGIN PASSWORD 'hidden-word'`)
    const at = new URL(url)
    at.username = user
    at.password = 'hidden-word'
    const poor = await deskAt(at.href)
    const refused = poor.open()
    await expect(refused).rejects.toMatchObject({
      code: 'unavailable',
      fix: expect.stringContaining('CREATE SCHEMA'),
    })
    await expect(refused).rejects.not.toThrow('hidden-word')
    await desk.ask(`DROP ROLE ${user}`)
  })
})
