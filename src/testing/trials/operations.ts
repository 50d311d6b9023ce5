import assert from 'node:assert/strict'
import type { KeptOperation } from '../../contracts/operations.ts'
import type { Act } from '../../core/audit.ts'
import type { Operation } from '../../core/operation.ts'
import { act, items, lastActs, sending, trial } from './operations-bench.ts'
import type { Trial } from './trial.ts'

export const operationTrials: readonly Trial[] = [
  trial(
    'one that is begun is read as it was, by another too',
    async ({ operations, other, begin }, world) => {
      const over: Partial<Operation> = {
        reason: 'mended "twice"',
        plan: { batch: 10, rate: 5, canary: { size: 2, wait: 1000, deaths: 0.2 }, although: ['expired'] },
      }
      const { operation, version } = await begin(over)
      const kept = await (await other()).read(operation.id)
      assert.deepEqual(kept!.operation, operation)
      assert.equal(kept!.version, version)
      assert.equal(kept!.counts.waiting, 0)
      assert.deepEqual(kept!.reasons, {})
      assert.equal(kept!.holder, undefined)
      assert.equal(await operations.read(world.tools.dice.uuid()), undefined)
      await assert.rejects(operations.begin(operation))
    },
  ),

  trial(
    'what is begun or changed has its entry in the audit, what is refused has none',
    async (on, world) => {
      const name = world.name('act')
      const whole = (count: number): Act => ({ ...act(world, name), target: 'operation', count })
      const { operation, version } = await on.begin()
      const next = { ...operation, state: 'frozen', hash: 'f00d' } as const
      const changed = await on.operations.change(next, version, whole(1))
      assert.deepEqual(changed!.operation, next)
      assert.ok(changed!.version > version)
      assert.equal(await on.operations.change({ ...next, state: 'ramp' }, version, whole(2)), undefined)
      assert.equal(await on.operations.change({ ...next, id: 'nobody' }, version, whole(3)), undefined)
      assert.deepEqual((await on.operations.read(operation.id))!.operation, next)
      assert.deepEqual(
        (await lastActs(world, name)).map(({ count }) => count),
        [1],
      )
    },
  ),

  trial('of two that change at once one wins', async ({ operations, other, begin }) => {
    const { operation, version } = await begin()
    const another = await other()
    const won = await Promise.all([
      operations.change({ ...operation, state: 'frozen' }, version),
      another.change({ ...operation, state: 'cancelled' }, version),
    ])
    const [winner, ...rest] = won.filter((each) => each !== undefined)
    assert.equal(rest.length, 0)
    assert.deepEqual((await operations.read(operation.id))!.operation, winner!.operation)
  }),

  trial('items lie in the order of their places, and are added once', async (on, world) => {
    const letters = on.write(7)
    await on.letters.keep(letters)
    const { operation, version } = await on.begin()
    // the version of a letter that an item was frozen in stays with it
    const all = items(world, letters, -7).map((item, n) => (n === 2 ? { ...item, repair: 'f00d' } : item))
    await on.operations.add(operation.id, version, all.slice(4))
    await on.operations.add(operation.id, version, all)
    const kept = await on.operations.add(operation.id, version, items(world, letters.slice(0, 2), 100))
    assert.equal(kept!.counts.waiting, 7)
    const found = await on.operations.items(operation.id, undefined, 100)
    assert.deepEqual(
      found.map(({ place, letter }) => [place, letter]),
      letters.map(({ id }, n) => [n - 7, id]),
    )
    const versions = [undefined, undefined, 'f00d', undefined, undefined, undefined, undefined]
    assert.deepEqual(
      found.map(({ repair }) => repair),
      versions,
    )
    const first = await on.operations.items(operation.id, ['waiting'], 3)
    const second = await on.operations.items(operation.id, ['waiting', 'sent'], 100, first.at(-1)!.place)
    assert.deepEqual([...first, ...second], found)
    assert.deepEqual(await on.operations.items(operation.id, ['sent'], 10), [])
    assert.deepEqual(await on.operations.items('nobody', undefined, 10), [])
    assert.equal(await on.operations.add(operation.id, version + 1, all), undefined)
    await on.operations.mark(operation.id, version, sending(world, -7, -6, -5, -4))
    assert.deepEqual(
      (await on.operations.items(operation.id, undefined, 100)).map(({ repair }) => repair),
      versions,
    )
  }),

  trial('what is skipped is counted by its reason', async (on, world) => {
    const { operation, version } = await on.begin()
    const at = world.now()
    const kept = await on.operations.add(operation.id, version, [
      { place: 1, letter: world.name('a'), state: 'skipped', because: 'expired', at },
      { place: 2, letter: world.name('b'), state: 'skipped', because: 'expired', at },
      { place: 3, letter: world.name('c'), state: 'skipped', because: 'unknown letter', at },
      { place: 4, letter: world.name('d'), state: 'waiting', because: 'needs approval', at },
      { place: 5, letter: world.name('e'), state: 'waiting', at },
    ])
    assert.deepEqual([kept!.counts.skipped, kept!.counts.waiting], [3, 2])
    assert.deepEqual(kept!.reasons, { expired: 2, 'unknown letter': 1, 'needs approval': 1 })
    const [first] = await on.operations.items(operation.id, ['skipped'], 1)
    assert.equal(first!.because, 'expired')
  }),

  trial('a letter is in one live operation at most, whoever adds it', async (on, world) => {
    const letters = on.write(20)
    await on.letters.keep(letters)
    const another = await on.other()
    const [one, two] = [await on.begin(), await on.begin()]
    await Promise.all([
      on.operations.add(one.operation.id, one.version, items(world, letters)),
      another.add(two.operation.id, two.version, items(world, letters)),
    ])
    const both = await Promise.all(
      [one, two].map(({ operation }) => on.operations.items(operation.id, undefined, 50)),
    )
    for (const [n, { id }] of letters.entries()) {
      const mine = both.map((all) => all[n]!)
      assert.ok(mine.every(({ letter }) => letter === id))
      assert.deepEqual(mine.map(({ state }) => state).sort(), ['skipped', 'waiting'])
      assert.ok(mine.some(({ because }) => because === 'in another operation'))
    }
  }),

  trial('what was skipped, failed, or in one that is over, another may have', async (on, world) => {
    const { id, kept, letters } = await on.frozen(3)
    const at = world.now()
    await on.operations.mark(id, kept.version, [
      { place: 1, from: ['waiting'], to: 'skipped', because: 'expired', at },
      { place: 2, from: ['waiting'], to: 'failed', because: 'no such door', at },
    ])
    const second = await on.begin()
    const taken = await on.operations.add(second.operation.id, second.version, items(world, letters))
    assert.deepEqual(await on.state(second.operation.id), ['waiting', 'waiting', 'skipped'])
    await on.operations.change({ ...second.operation, state: 'cancelled' }, taken!.version)
    const third = await on.begin()
    await on.operations.add(third.operation.id, third.version, items(world, letters))
    assert.deepEqual(await on.state(third.operation.id), ['waiting', 'waiting', 'skipped'])
  }),

  trial('one at a time works on it, and another when his time is over', async (on, world) => {
    const { id, kept } = await on.frozen(1)
    const another = await on.other()
    const now = world.now()
    const mine = await on.operations.take(id, 'one', now, now + 1000)
    assert.deepEqual(mine!.holder, { name: 'one', until: now + 1000 })
    assert.ok(mine!.version > kept.version)
    assert.equal(await another.take(id, 'two', now + 999, now + 5000), undefined)
    const longer = await on.operations.take(id, 'one', now + 500, now + 2000)
    assert.equal(longer!.version, mine!.version)
    assert.equal(await another.take(id, 'two', now + 1999, now + 5000), undefined)
    const theirs = await another.take(id, 'two', now + 2000, now + 5000)
    assert.equal(theirs!.holder!.name, 'two')
    // who was thought dead, and is not, changes nothing any more
    assert.equal(await on.operations.mark(id, longer!.version, sending(world, 1)), undefined)
    assert.equal(await on.operations.take(id, 'one', now + 2001, now + 9000), undefined)
    assert.deepEqual(await another.mark(id, theirs!.version, sending(world, 1)), [true])
    assert.equal(await on.operations.take('nobody', 'one', now, now + 1), undefined)
  }),

  trial('of two that take it at once one has it', async (on, world) => {
    const { id } = await on.frozen(1)
    const another = await on.other()
    const now = world.now()
    const taken = await Promise.all([
      on.operations.take(id, 'one', now, now + 1000),
      another.take(id, 'two', now, now + 1000),
    ])
    assert.equal(taken.filter((each) => each !== undefined).length, 1)
  }),

  trial('the newest are listed first, those that live by themselves', async (on) => {
    const made: KeptOperation[] = []
    for (let n = 0; n < 5; n++) made.push(await on.begin())
    const [, second] = made
    await on.operations.change({ ...second!.operation, state: 'cancelled' }, second!.version)
    const ids = made.map(({ operation }) => operation.id)
    const ours = (found: readonly KeptOperation[]) =>
      found.map(({ operation }) => operation.id).filter((id) => ids.includes(id))
    assert.deepEqual(ours(await on.operations.list({}, 100)), ids.toReversed())
    assert.deepEqual(ours(await on.operations.list({ live: true }, 100)), [ids[4], ids[3], ids[2], ids[0]])
    assert.ok(ours(await on.operations.list({ live: false }, 100)).includes(ids[1]!))
    const page = await on.operations.list({}, 2)
    assert.deepEqual(ours(page), [ids[4], ids[3]])
    assert.deepEqual(ours(await on.operations.list({}, 2, page.at(-1)!.operation.id)), [ids[2], ids[1]])
    assert.deepEqual(ours(await on.operations.list({ beginning: ids[3]! }, 5)), [ids[3]])
    assert.deepEqual(await on.operations.list({ beginning: 'nobody' }, 5), [])
  }),
]
