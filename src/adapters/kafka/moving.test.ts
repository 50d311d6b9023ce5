import { EventEmitter } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import { virtualClock } from '../../testing/clock.ts'
import type { Desk } from './desk.ts'
import { CODE } from './errors.ts'
import type { Slot } from './holding.ts'
import { memberOf } from './member.ts'
import { settleBatch } from './settle.ts'
import type { MemberOptions, Wire } from './wire.ts'

const SESSION = 9_000
const TURN = 30_000

/** A member whose broker deals as the test says. Real ones: membership.test.ts, rejoining.test.ts. */
const stage = () => {
  const clock = virtualClock()
  const consumer = Object.assign(new EventEmitter(), {
    memberId: 'us',
    topics: Object.assign(new Set<string>(), { track: () => {}, untrack: () => {} }),
    clearMetadata: () => {},
    joinGroup: vi.fn(async () => {}),
  })
  let joins: MemberOptions | undefined
  const nobody = async () => {
    throw new Error('nobody answers')
  }
  const wire = {
    settings: { brokers: ['here'], session: SESSION, heartbeat: 500 },
    tools: { clock, journal: () => {} },
    clerk: { metadata: nobody, listConsumerGroupOffsets: nobody, findCoordinator: nobody },
    client: { FindCoordinatorKeyTypes: {} },
    counts: { commits: 0 },
    member: (options: MemberOptions) => {
      joins = options
      return consumer
    },
  } as unknown as Wire
  const member = memberOf(wire, 'group', {
    topics: () => ['orders'],
    squeezes: false,
    carriesParcels: () => false,
    window: () => 10,
    ensure: async () => {},
  })
  let generation = 0
  const deal = async (...partitions: number[]) => {
    const assignments = [{ topic: 'orders', partitions }]
    consumer.emit('consumer:group:join', { memberId: 'us', generationId: ++generation, assignments })
    await clock.advance(1)
  }
  const beat = (moment: 'start' | 'end') => void consumer.emit(`consumer:heartbeat:${moment}`, {})
  /** All else is answered: where to begin, and that this is not the generation. */
  const refuseCommits = () => {
    const connection = {}
    const refused = Object.assign(new Error('another generation'), { apiCode: CODE.illegalGeneration })
    Object.assign(wire.clerk, {
      metadata: async () => ({ topics: new Map() }),
      listConsumerGroupOffsets: async () => [],
      findCoordinator: async () => [{ host: 'here', port: 1 }],
      connections: { get: async () => connection },
    })
    Object.assign(wire.client, { offsetCommitV8: { api: { async: () => Promise.reject(refused) } } })
  }
  return { wire, clock, member, consumer, deal, beat, refuseCommits, rejoin: () => joins!.beforeJoin() }
}

const deskOf = ({ wire, member }: ReturnType<typeof stage>) => {
  const door = { topic: 'orders', closed: false, out: 1, retrying: 0 }
  const tenure = { topic: 'orders', partition: 0, over: false, parcels: false, finish: vi.fn() }
  const slot = { tenure, state: 'out', uncommitted: false, holder: door } as unknown as Slot
  const desk = { wire, group: { member }, door, slotOf: () => slot } as unknown as Desk
  const settle = () => settleBatch(desk, [{ do: 'ack', delivery: {} as never }])
  return { slot, settle }
}

describe('a member between two deals', () => {
  it('keeps no settlement for ever: it is told, and may be settled again', async () => {
    const at = stage()
    const { clock, member, deal } = at
    // nobody tells where to begin: it stays on the move
    await deal(0)
    expect(member.phase).toBe('moving')
    const { slot, settle } = deskOf(at)
    const since = clock.now()
    const [answer] = await clock.runUntil(settle(), { most: 2 * TURN })
    expect(answer).toMatchObject({ code: 'unavailable' })
    expect(clock.now() - since).toBeLessThanOrEqual(TURN + 1_000)
    expect(slot).toMatchObject({ state: 'out', uncommitted: false })
  })

  it('keeps no settlement whose commit waits for others: it is told, and only committed again', async () => {
    const at = stage()
    await at.deal()
    expect(at.member.phase).toBe('here')
    void at.member.commits.alone(() => new Promise(() => {}))
    const { slot, settle } = deskOf(at)
    const [answer] = await at.clock.runUntil(settle(), { most: 2 * TURN })
    expect(answer).toMatchObject({ code: 'unavailable' })
    expect(slot.uncommitted).toBe(true)
  })

  it('gives up its partitions before its session ends, whatever a transaction keeps from being committed', async () => {
    const { clock, member, deal, rejoin } = stage()
    await deal()
    void member.commits.alone(() => new Promise(() => {}))
    const since = clock.now()
    await clock.runUntil(rejoin(), { most: 2 * SESSION })
    expect(clock.now() - since).toBeLessThanOrEqual(SESSION / 3)
    expect(member.phase).toBe('moving')
  })

  it('asks for another deal where its commits are refused and its heartbeats are not', async () => {
    const { clock, member, deal, consumer, refuseCommits } = stage()
    refuseCommits()
    await deal(0)
    await clock.advance(SESSION - 500)
    expect([member.phase, consumer.joinGroup.mock.calls.length]).toEqual(['moving', 0])
    await clock.advance(1_000)
    expect([member.phase, consumer.joinGroup.mock.calls.length]).toEqual(['moving', 1])
  })

  it('asks for no other deal where a heartbeat has found out that its commits are refused', async () => {
    const { clock, deal, consumer, refuseCommits, rejoin } = stage()
    refuseCommits()
    await deal(0)
    await clock.advance(SESSION - 500)
    await rejoin()
    await clock.advance(2 * SESSION)
    expect(consumer.joinGroup).not.toHaveBeenCalled()
  })

  it('runs no transaction whose turn came too late: whoever asked for it was told, and asks again', async () => {
    const { clock, member, deal, beat } = stage()
    await deal()
    let free = () => {}
    const first = member.commits.alone(
      () =>
        new Promise((resolve) => {
          free = () => resolve('done')
        }),
    )
    const commit = vi.fn(async () => 'done' as const)
    expect(await clock.runUntil(member.commits.alone(commit), { most: 2 * TURN })).toBeInstanceOf(Error)
    free()
    expect(await first).toBe('done')
    beat('start')
    beat('end')
    expect(await member.commits.alone(async () => 'done')).toBe('done')
    expect(commit).not.toHaveBeenCalled()
  })

  it('settles nothing when no heartbeat was answered for a session, until one is that was sent since', async () => {
    const at = stage()
    await at.deal()
    const { settle } = deskOf(at)
    at.beat('start')
    await at.clock.advance(SESSION)
    const answered = vi.fn()
    void settle().then(answered)
    // it was stopped, and reads only now what the broker said before
    at.beat('end')
    await at.clock.advance(500)
    expect([at.member.handing, answered.mock.calls]).toEqual([false, []])
    at.beat('start')
    at.beat('end')
    await at.clock.advance(SESSION / 2)
    expect([at.member.handing, answered.mock.calls.length]).toEqual([true, 1])
  })
})
