import assert from 'node:assert/strict'
import type { LetterFilter, LetterState } from '../../contracts/letters.ts'
import { idsOf, trial } from './letters-bench.ts'
import { sameLetter } from './samples.ts'
import type { Trial } from './trial.ts'

export const lettersTrials: readonly Trial[] = [
  trial('a kept letter is found as it was, and open', async ({ letters, write }) => {
    const [letter] = write(1)
    assert.equal(await letters.keep([letter!]), 1)
    const found = await letters.find({ ids: [letter!.id] }, 10)
    assert.equal(found.length, 1)
    sameLetter(found[0]!.letter, letter!)
    assert.equal(found[0]!.state, 'open')
  }),

  trial(
    'keeping is idempotent by letter id, and a kept letter stays as it is',
    async ({ letters, write }, world) => {
      const [one, two] = write(2)
      assert.equal(await letters.keep([one!]), 1)
      await letters.mark([{ id: one!.id, from: ['open'], to: 'replaying', at: world.now() }])
      assert.equal(await letters.keep([{ ...one!, error: 'another text' }, two!, two!]), 1)
      const [found] = await letters.find({ ids: [one!.id] }, 10)
      sameLetter(found!.letter, one!)
      assert.equal(found!.state, 'replaying')
      assert.equal(await letters.keep([]), 0)
    },
  ),

  trial('the newest comes first, whatever order they were kept in', async ({ letters, write, ids }) => {
    const written = write(5)
    await letters.keep([2, 0, 4, 1, 3].map((n) => written[n]!))
    assert.deepEqual(await ids(), idsOf(written).toReversed())
    assert.deepEqual(await ids({}, 2), idsOf(written).toReversed().slice(0, 2))
  }),

  trial(
    'pages follow on each other, though newer letters arrive meanwhile',
    async ({ letters, write, ids }) => {
      // Pairs of one moment: a page may end between them.
      const written = write(9, (n) => ({ buriedAt: 1_000_000 + Math.floor(n / 2) }))
      await letters.keep(written)
      const seen: string[] = []
      for (let after: string | undefined; ; after = seen.at(-1)) {
        const page = await ids({}, 2, after)
        if (page.length === 0) break
        seen.push(...page)
        if (seen.length === 4) await letters.keep(write(1))
      }
      assert.deepEqual([...seen].sort(), [...idsOf(written)].sort())
      assert.equal(new Set(seen).size, 9)
    },
  ),

  trial('what goes on after a letter that is not there is refused', async ({ letters }, world) => {
    await assert.rejects(letters.find({}, 10, world.name('gone')), { code: 'unknown_letter' })
  }),

  trial('filters narrow, together and each alone', async ({ letters, write, ids }) => {
    const written = write(6, (n) => ({
      topic: n < 3 ? 'orders' : 'tasks',
      category: n % 2 ? 'unknown' : 'permanent',
      kind: n === 0 ? 'schema' : 'business',
      fingerprint: n < 2 ? 'f-1' : 'f-2',
    }))
    await letters.keep(written)
    const expect = async (filter: LetterFilter, wanted: readonly number[]) => {
      assert.deepEqual(await ids(filter), idsOf(wanted.map((n) => written[n]!)), JSON.stringify(filter))
      assert.equal(await letters.count({ service: written[0]!.service, ...filter }), wanted.length)
    }
    await expect({}, [5, 4, 3, 2, 1, 0])
    await expect({ topic: 'orders' }, [2, 1, 0])
    await expect({ category: 'unknown' }, [5, 3, 1])
    await expect({ kind: 'schema' }, [0])
    await expect({ fingerprint: 'f-1' }, [1, 0])
    await expect({ ids: [written[4]!.id, written[1]!.id, 'unknown'] }, [4, 1])
    await expect({ ids: [] }, [])
    await expect({ topic: 'tasks', category: 'permanent', fingerprint: 'f-2' }, [4])
    await expect({ service: 'nobody' }, [])
  }),

  trial('a mark takes effect only from the states it names', async ({ letters, write }, world) => {
    const [letter] = write(1)
    await letters.keep([letter!])
    const at = world.now() + 5
    const mark = async (from: readonly LetterState[], to: LetterState, when = at) =>
      (await letters.mark([{ id: letter!.id, from, to, at: when }]))[0]
    assert.equal(await mark(['replaying'], 'resolved'), false)
    assert.equal(await mark(['open', 'dead again'], 'replaying'), true)
    assert.equal(await mark(['open', 'dead again'], 'replaying', at + 1), false)
    const [found] = await letters.find({ ids: [letter!.id] }, 1)
    assert.deepEqual([found!.state, found!.stateAt], ['replaying', at])
    sameLetter(found!.letter, letter!)
    assert.equal(await mark(['replaying'], 'resolved'), true)
    assert.deepEqual(await letters.mark([{ id: 'unknown', from: ['open'], to: 'resolved', at }]), [false])
    assert.deepEqual(await letters.mark([]), [])
  }),

  trial('of two that mark at once one wins', async ({ letters, write }, world) => {
    const other = (await world.open()).store!.letters!
    const [letter] = write(1)
    await letters.keep([letter!])
    const mark = [{ id: letter!.id, from: ['open'], to: 'replaying', at: world.now() }] as const
    const won = await Promise.all([letters.mark(mark), other.mark(mark)])
    assert.equal(won.flat().filter(Boolean).length, 1)
  }),

  trial('states filter and count', async ({ letters, service, write, ids }, world) => {
    const written = write(4)
    await letters.keep(written)
    const marks = written.slice(0, 3).map(({ id }, n) => ({
      id,
      from: ['open'] as const,
      to: (['replaying', 'resolved', 'dead again'] as const)[n]!,
      at: world.now(),
    }))
    assert.deepEqual(await letters.mark(marks), [true, true, true])
    assert.deepEqual(await ids({ states: ['open'] }), [written[3]!.id])
    assert.deepEqual(await ids({ states: ['resolved', 'dead again'] }), [written[2]!.id, written[1]!.id])
    assert.equal(await letters.count({ service, states: ['open', 'replaying'] }), 2)
    assert.equal(await letters.count({ service }), 4)
  }),

  trial('another process finds them', async ({ letters, write }, world) => {
    const [letter] = write(1, () => ({ error: 'žluťoučký "quoted" \u0000 text', stack: 'a\n  b' }))
    await letters.keep([letter!])
    const [found] = await (await world.open()).store!.letters!.find({ ids: [letter!.id] }, 1)
    sameLetter(found!.letter, letter!)
  }),
]
