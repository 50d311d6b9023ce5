import { createClient } from '@redis/client'
import { afterEach, expect, it } from 'vitest'
import { describeOwn, type OwnServer, ownRedis } from '../../../test/stores/own-server.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { doctor, open } from './index.ts'

const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
const examine = (url: string) => doctor.examine(url, { subscriptions: [] }, tools)
const told = async (url: string) =>
  (await examine(url))
    .filter(({ level }) => level !== 'fine')
    .map(({ check, level, what }) => `${level} ${check}: ${what}`)

describeOwn('redis', 'the doctor of a Redis server of our own', () => {
  let own: OwnServer | undefined
  afterEach(async () => {
    await own?.close()
    own = undefined
  })

  it('finds nothing wrong with one that keeps what it confirms, and leaves no key', async () => {
    own = await ownRedis()
    expect(await told(own.url)).toEqual([])
    expect(new Set((await examine(own.url)).map(({ check }) => check))).toEqual(new Set(doctor.checks))
    const client = await createClient({ url: own.url }).connect()
    expect(await client.dbSize()).toBe(0)
    client.destroy()
  })

  it('tells one that drops keys, keeps nothing on disk and is nearly full', async () => {
    own = await ownRedis({ appendonly: 'no', save: '', maxmemory: '1mb', 'maxmemory-policy': 'allkeys-lru' })
    const all = await told(own.url)
    expect(all).toEqual([
      'wrong redis-eviction: allkeys-lru, and maxmemory is set',
      expect.stringMatching(/^risky redis-memory: \d+ % of it are used$/),
      'wrong redis-persistence: nothing is kept on disk at all',
    ])
  })

  it('tells what is lost in the last second, or since the last snapshot', async () => {
    own = await ownRedis({ appendfsync: 'everysec', 'maxmemory-policy': 'volatile-lru' })
    expect(await told(own.url)).toEqual([
      'risky redis-eviction: volatile-lru, though maxmemory is not set yet',
      'risky redis-persistence: yes, appendfsync everysec',
    ])
    await own.close()
    own = await ownRedis({ appendonly: 'no', save: '3600 1' })
    expect(await told(own.url)).toEqual([
      'risky redis-persistence: no append-only file, only snapshots now and then',
    ])
  })

  it('tells a replica, a node of a cluster, and a user who may not do enough', async () => {
    own = await ownRedis({ 'cluster-enabled': 'yes' })
    expect(await told(own.url)).toEqual([
      expect.stringMatching(/^wrong redis-role: it is a node of a cluster/),
    ])
    await own.close()
    own = await ownRedis({ replicaof: '127.0.0.1 1' })
    expect(await told(own.url)).toEqual([expect.stringMatching(/^wrong redis-role: it is a replica/)])
    await own.close()
    own = await ownRedis()
    const client = await createClient({ url: own.url }).connect()
    await client.sendCommand(['ACL', 'SETUSER', 'poor', 'on', '>word', '~other:*', '+@all'])
    await client.sendCommand(['ACL', 'SETUSER', 'poorer', 'on', '>word', '~*', '+@read'])
    const as = (user: string) => own!.url.replace(/\/\/.*@/, `//${user}:word@`)
    for (const user of ['poor', 'poorer']) {
      expect((await told(as(user)))[0]).toMatch(/^wrong redis-permissions: .*NOPERM/)
    }
    // the fix, as it is told, is enough
    const { fix } = (await examine(as('poorer'))).find(({ check }) => check === 'redis-permissions')!
    const rights = fix!.replace(/^.*<our user> /, '').split(' ')
    await client.sendCommand(['ACL', 'SETUSER', 'enough', 'on', '>word', ...rights])
    client.destroy()
    expect(await told(as('enough'))).toEqual([])
    const { store } = await open(as('enough'), tools)
    await store.board.post('a', 1, 1000)
    expect(await store.board.read('a')).toHaveLength(1)
    await store.close()
  })
})
