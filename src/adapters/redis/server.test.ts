import { afterEach, expect, it } from 'vitest'
import { describeOwn, type OwnServer, ownRedis } from '../../../test/stores/own-server.ts'
import { type Desk, deskAt } from '../../../test/stores/redis.ts'

describeOwn('redis', 'a Redis server', () => {
  let server: OwnServer | undefined
  afterEach(() => server?.close())

  const at = async (settings: Readonly<Record<string, string>>): Promise<Desk> => {
    server = await ownRedis(settings)
    return deskAt(server.url)
  }
  const notices = ({ facts }: Desk) => facts.flatMap((fact) => (fact.is === 'notice' ? [fact.text] : []))

  it('that would drop claims when its memory is full is refused', async () => {
    const desk = await at({ maxmemory: '64mb', 'maxmemory-policy': 'allkeys-lru' })
    await expect(desk.open()).rejects.toMatchObject({
      code: 'topology_differs',
      message: expect.stringContaining('maxmemory-policy allkeys-lru'),
      fix: expect.stringContaining('set maxmemory-policy noeviction'),
    })
  })

  it('that would do so once its memory is bounded, or keeps no file, is told about', async () => {
    const desk = await at({ 'maxmemory-policy': 'volatile-ttl', appendonly: 'no' })
    await desk.open()
    expect(notices(desk)).toEqual([
      expect.stringContaining('has maxmemory-policy volatile-ttl'),
      expect.stringContaining('keeps no append-only file'),
    ])
    await desk.close()
  })

  it('as it should be is told nothing about', async () => {
    const desk = await at({})
    await desk.open()
    expect(notices(desk)).toEqual([])
    await desk.close()
  })

  it('in a cluster is refused until the adapter can follow it', async () => {
    const desk = await at({ 'cluster-enabled': 'yes' })
    await expect(desk.open()).rejects.toMatchObject({ code: 'topology_differs' })
  })
})
