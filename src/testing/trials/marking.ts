import assert from 'node:assert/strict'
import type { ItemMark } from '../../contracts/operations.ts'
import { idsOf } from './letters-bench.ts'
import { act, items, lastActs, sending, trial } from './operations-bench.ts'
import type { Trial } from './trial.ts'

/** What is done to items and letters together. */
export const markingTrials: readonly Trial[] = [
  trial('items and letters are marked together, with one entry in the audit', async (on, world) => {
    const { id, kept, letters } = await on.frozen(4)
    const name = world.name('act')
    await on.letters.mark([{ id: letters[1]!.id, from: ['open'], to: 'discarded', at: world.now() }])
    const marks = sending(world, 1, 2, 3, 9)
    assert.deepEqual(await on.operations.mark(id, kept.version, marks, act(world, name)), [
      true,
      false,
      true,
      false,
    ])
    assert.deepEqual(await on.state(id), ['sending', 'waiting', 'sending', 'waiting'])
    assert.deepEqual(await Promise.all(idsOf(letters).map(on.letter)), [
      'replaying',
      'discarded',
      'replaying',
      'open',
    ])
    assert.deepEqual(await on.operations.mark(id, kept.version, marks, act(world, name)), [
      false,
      false,
      false,
      false,
    ])
    const { counts, version } = (await on.operations.read(id))!
    assert.deepEqual([counts.sending, counts.waiting], [2, 2])
    assert.equal(version, kept.version)
    const entries = await lastActs(world, name)
    assert.deepEqual(
      entries.map(({ count, details }) => [count, details.ids]),
      [[2, [letters[0]!.id, letters[2]!.id]]],
    )
    assert.equal(await on.letters.count({ service: on.service, states: ['replaying'] }), 2)
  }),

  trial('who has an older version marks nothing', async (on, world) => {
    const { id, kept, letters } = await on.frozen(1)
    const paused = { ...kept.operation, paused: { by: 'bob', at: world.now() } }
    await on.operations.change(paused, kept.version)
    assert.equal(await on.operations.mark(id, kept.version, sending(world, 1)), undefined)
    assert.equal(await on.letter(letters[0]!.id), 'open')
    assert.deepEqual(await on.state(id), ['waiting'])
    // how something ended that was begun before is told whatever the version
    assert.deepEqual(await on.operations.mark(id, undefined, sending(world, 1)), [true])
    assert.equal(await on.operations.mark('nobody', undefined, sending(world, 1)), undefined)
  }),

  trial('a letter that comes back ends its item, also of one that was cancelled', async (on, world) => {
    const { id, kept, letters } = await on.frozen(4)
    const at = world.now()
    await on.operations.mark(id, kept.version, sending(world, 1, 2, 3))
    await on.operations.mark(id, kept.version, [{ place: 2, from: ['sending'], to: 'sent', at }])
    const back = (n: number, to: 'resolved' | 'dead again') =>
      on.letters.mark([{ id: letters[n]!.id, from: ['open', 'replaying'], to, at }])
    await back(0, 'resolved')
    await back(1, 'dead again')
    await on.operations.change({ ...kept.operation, state: 'cancelled' }, kept.version)
    await back(2, 'resolved')
    await back(3, 'resolved')
    assert.deepEqual(await on.state(id), ['resolved', 'dead again', 'resolved', 'waiting'])
    const { counts } = (await on.operations.read(id))!
    assert.deepEqual([counts.resolved, counts['dead again'], counts.sending, counts.sent], [2, 1, 0, 0])
    // what is known of it by now is not undone by who marks it late
    const { version } = (await on.operations.read(id))!
    assert.deepEqual(
      await on.operations.mark(id, version, [{ place: 1, from: ['sending'], to: 'sent', at }]),
      [false],
    )
  }),

  trial('removed letters are gone, with all that was counted of them', async (on, world) => {
    const fingerprint = world.name('f1')
    const letters = on.write(4, (n) => ({ fingerprint, error: `no. ${n}` }))
    await on.letters.keep(letters)
    const { operation, version } = await on.begin({ kind: 'purge' })
    await on.operations.add(operation.id, version, items(world, letters))
    const name = world.name('act')
    const remove = (...places: readonly number[]) =>
      on.operations.mark(
        operation.id,
        version,
        places.map((place) => ({
          place,
          from: ['waiting'],
          to: 'purged',
          at: world.now(),
          letter: { from: ['open'], to: 'removed' },
        })),
        act(world, name),
      )
    await on.letters.mark([{ id: letters[1]!.id, from: ['open'], to: 'replaying', at: world.now() }])
    assert.deepEqual(await remove(1, 2, 4), [true, false, true])
    assert.deepEqual(await on.ids(), [letters[2]!.id, letters[1]!.id])
    assert.equal(await on.letters.count({ fingerprint }), 2)
    const [group] = await on.letters.groups.list(fingerprint, 2)
    const { sample, error, firstAt, lastAt } = group!
    assert.deepEqual(
      { sample, error, firstAt, lastAt },
      { sample: letters[2]!.id, error: 'no. 2', firstAt: letters[1]!.buriedAt, lastAt: letters[2]!.buriedAt },
    )
    await on.letters.mark([{ id: letters[1]!.id, from: ['replaying'], to: 'open', at: world.now() }])
    await remove(2, 3)
    assert.deepEqual(await on.ids(), [])
    assert.deepEqual(await on.letters.groups.list(fingerprint, 2), [])
    assert.deepEqual(await on.letters.groups.tallies(fingerprint), [])
    assert.deepEqual(await on.state(operation.id), ['purged', 'purged', 'purged', 'purged'])
    assert.deepEqual(
      (await lastActs(world, name)).map(({ count }) => count),
      [2, 2],
    )
    // a double of it that comes late is a new letter
    assert.equal(await on.letters.keep([letters[0]!]), 1)
    assert.equal((await on.letters.groups.list(fingerprint, 2)).length, 1)
  }),

  trial(
    'a batch is marked as if one by one, whatever groups and states its letters are in',
    async (on, world) => {
      const prints = [world.name('f1'), world.name('f2')]
      const letters = on.write(6, (n) => ({ fingerprint: prints[n % 2]! }))
      await on.letters.keep(letters)
      const { operation, version } = await on.begin()
      await on.operations.add(operation.id, version, items(world, letters))
      await on.letters.mark([{ id: letters[4]!.id, from: ['open'], to: 'replaying', at: world.now() }])
      const at = world.now() + 7
      const from = ['open', 'replaying'] as const
      const alike = [1, 2, 3, 4, 5].map(
        (place): ItemMark => ({
          place,
          from: ['waiting'],
          to: 'sending',
          at,
          letter: { from, to: 'replaying' },
        }),
      )
      assert.deepEqual(await on.operations.mark(operation.id, version, alike), Array(5).fill(true))
      assert.deepEqual(await on.state(operation.id), [...Array(5).fill('sending'), 'waiting'])
      const found = await on.letters.find({ service: on.service, states: ['replaying'] }, 10)
      assert.deepEqual(
        found.map(({ stateAt }) => stateAt),
        Array(5).fill(at),
      )
      assert.equal(await on.letters.count({ service: on.service, states: ['replaying'] }), 5)
      assert.equal(await on.letters.count({ service: on.service, states: ['open'] }), 1)
      // one that came back meanwhile keeps nobody else from being told of
      await on.letters.mark([{ id: letters[1]!.id, from: ['replaying'], to: 'resolved', at }])
      const sent = [1, 2, 3].map((place): ItemMark => ({ place, from: ['sending'], to: 'sent', at }))
      assert.deepEqual(await on.operations.mark(operation.id, undefined, sent), [true, false, true])
      const { counts } = (await on.operations.read(operation.id))!
      assert.deepEqual([counts.sent, counts.sending, counts.resolved, counts.waiting], [2, 2, 1, 1])
      // the same place twice is marked once
      const twice = [4, 4].map((place): ItemMark => ({ place, from: ['sending'], to: 'sent', at }))
      assert.deepEqual(await on.operations.mark(operation.id, undefined, twice), [true, false])
    },
  ),
  trial(
    'a step whose letters are named is marked as any other, with those that can be',
    async (on, world) => {
      const { id, kept, letters } = await on.frozen(5)
      const named = (...places: readonly number[]): readonly ItemMark[] =>
        sending(world, ...places).map((mark) => ({
          ...mark,
          letter: { ...mark.letter!, id: letters[mark.place - 1]!.id },
        }))
      const counts = async () => {
        const of = (state: 'open' | 'replaying') => on.letters.count({ service: on.service, states: [state] })
        return [await of('open'), await of('replaying'), (await on.operations.read(id))!.counts.sending]
      }
      const name = world.name('act')
      const replay = act(world, name)
      assert.equal(await on.operations.mark(id, kept.version + 1, named(1, 2), replay), undefined)
      assert.deepEqual(await counts(), [5, 0, 0])
      assert.deepEqual(await on.operations.mark(id, kept.version, named(1, 2), replay), [true, true])
      assert.deepEqual(await counts(), [3, 2, 2])
      // of one the letter was given up meanwhile, one was marked before, and one is not there
      await on.letters.mark([{ id: letters[3]!.id, from: ['open'], to: 'discarded', at: world.now() }])
      const others = [...named(2, 3, 4), { ...named(5)[0]!, place: 9 }]
      assert.deepEqual(await on.operations.mark(id, kept.version, others, replay), [
        false,
        true,
        false,
        false,
      ])
      assert.deepEqual(await counts(), [1, 3, 3])
      assert.deepEqual(await on.state(id), ['sending', 'sending', 'sending', 'waiting', 'waiting'])
      const acts = (await lastActs(world, name)).map(({ details }) => details.ids)
      assert.deepEqual(acts.toReversed(), [[letters[0]!.id, letters[1]!.id], [letters[2]!.id]])
    },
  ),
  trial('what lies between those that are marked, and is not named, stays as it is', async (on, world) => {
    const { id, kept, letters } = await on.frozen(6)
    const named = (...places: readonly number[]): readonly ItemMark[] =>
      sending(world, ...places).map((mark) => ({
        ...mark,
        letter: { ...mark.letter!, id: letters[mark.place - 1]!.id },
      }))
    const at = world.now()
    await on.operations.mark(id, kept.version, [{ place: 2, from: ['waiting'], to: 'skipped', at }])
    // as many as wait there, and not the same
    assert.deepEqual(await on.operations.mark(id, kept.version, named(1, 2, 4)), [true, false, true])
    assert.deepEqual(await on.operations.mark(id, kept.version, named(6)), [true])
    const sent = [1, 6].map((place): ItemMark => ({ place, from: ['sending'], to: 'sent', at }))
    assert.deepEqual(await on.operations.mark(id, undefined, sent), [true, true])
    assert.deepEqual(await on.state(id), ['sent', 'skipped', 'waiting', 'sending', 'waiting', 'sent'])
    assert.equal(await on.letters.count({ service: on.service, states: ['replaying'] }), 3)
    const { counts } = (await on.operations.read(id))!
    assert.deepEqual([counts.waiting, counts.sending, counts.sent, counts.skipped], [2, 1, 2, 1])
  }),
]
