import assert from 'node:assert/strict'
import type { Board } from '../../contracts/board.ts'
import type { Json } from '../../core/json.ts'
import type { Trial, TrialWorld } from './trial.ts'

const HOUR = 3_600_000

const trial = (
  name: string,
  run: (board: Board, prefix: string, world: TrialWorld) => Promise<void>,
): Trial => ({
  name: `board: ${name}`,
  about: 'board',
  run: async (world) => run((await world.open()).store!.board, `${world.name('board')}/`, world),
})

export const boardTrials: readonly Trial[] = [
  trial('what was posted is read, by name', async (board, prefix, world) => {
    const values: Record<string, Json> = { b: { open: true, since: [1, 2.5, 'ä'] }, a: null, c: 'text' }
    const until = world.now() + HOUR
    for (const name in values) assert.equal(await board.post(prefix + name, values[name]!, HOUR), true)
    const entries = await board.read(prefix)
    assert.deepEqual(
      entries.map(({ entry, value }) => [entry, value]),
      ['a', 'b', 'c'].map((name) => [prefix + name, values[name]]),
    )
    for (const entry of entries) {
      assert.ok(entry.version > 0)
      assert.ok(entry.until >= until && entry.until <= world.now() + HOUR)
    }
  }),

  trial('posting again replaces, and the version grows', async (board, prefix) => {
    await board.post(`${prefix}a`, 1, HOUR)
    const [before] = await board.read(prefix)
    await board.post(`${prefix}a`, 2, HOUR)
    const [after, ...more] = await board.read(prefix)
    assert.deepEqual(more, [])
    assert.equal(after?.value, 2)
    assert.ok(after!.version > before!.version)
  }),

  trial('only entries with the prefix are read, whatever characters it holds', async (board, prefix) => {
    for (const name of ['a_1', 'ab1', 'a%1', 'A_1', 'b']) await board.post(prefix + name, name, HOUR)
    const names = async (beginning: string) =>
      (await board.read(prefix + beginning)).map(({ value }) => value)
    assert.deepEqual(await names('a_'), ['a_1'])
    assert.deepEqual(await names('a%'), ['a%1'])
    assert.deepEqual(await names('A'), ['A_1'])
    assert.deepEqual(await names('nothing'), [])
    assert.deepEqual(await names(''), ['A_1', 'a%1', 'a_1', 'ab1', 'b'])
  }),

  trial('an entry whose time is over is absent', async (board, prefix, world) => {
    await board.post(`${prefix}short`, 1, 200)
    await board.post(`${prefix}long`, 2, HOUR)
    await world.wait(250)
    assert.deepEqual(
      (await board.read(prefix)).map(({ value }) => value),
      [2],
    )
    assert.equal(await board.post(`${prefix}short`, 3, HOUR, 0), true)
  }),

  trial('an entry that was gone in between never looks unchanged', async (board, prefix, world) => {
    await board.post(`${prefix}a`, 'old', 200)
    const [old] = await board.read(prefix)
    await world.wait(250)
    assert.deepEqual(await board.read(prefix), [])
    await board.post(`${prefix}a`, 'new', HOUR)
    assert.equal(await board.post(`${prefix}a`, 'late', HOUR, old!.version), false)
  }),

  trial('ifVersion 0 writes only where nothing is', async (board, prefix) => {
    assert.equal(await board.post(`${prefix}a`, 'first', HOUR, 0), true)
    assert.equal(await board.post(`${prefix}a`, 'second', HOUR, 0), false)
    assert.equal((await board.read(prefix))[0]?.value, 'first')
  }),

  trial('ifVersion writes only over that version', async (board, prefix) => {
    await board.post(`${prefix}a`, 1, HOUR)
    const { version } = (await board.read(prefix))[0]!
    assert.equal(await board.post(`${prefix}a`, 2, HOUR, version), true)
    assert.equal(await board.post(`${prefix}a`, 3, HOUR, version), false)
    assert.equal(await board.post(`${prefix}absent`, 3, HOUR, version), false)
    assert.deepEqual(
      (await board.read(prefix)).map(({ value }) => value),
      [2],
    )
  }),

  trial('of two that race for a version one wins', async (board, prefix, world) => {
    const other = (await world.open()).store!.board
    for (let round = 0; round < 5; round++) {
      const version = (await board.read(prefix))[0]?.version ?? 0
      const won = await Promise.all([
        board.post(`${prefix}a`, 'one', HOUR, version),
        other.post(`${prefix}a`, 'two', HOUR, version),
      ])
      assert.equal(won.filter(Boolean).length, 1)
      const winner = won[0] ? 'one' : 'two'
      assert.equal((await other.read(prefix))[0]?.value, winner)
    }
  }),
]
