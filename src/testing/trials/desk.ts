import assert from 'node:assert/strict'
import type { Desk } from '../../contracts/desk.ts'
import { contentHash, type Repair } from '../../core/repair.ts'
import { type Bench, idsOf, trial as letterTrial } from './letters-bench.ts'
import { sameLetter } from './samples.ts'
import type { Trial, TrialWorld } from './trial.ts'

/** A store whose letters have no desk says so by its absence, and has nothing to prove here. */
const trial = (name: string, run: (desk: Desk, bench: Bench, world: TrialWorld) => Promise<void>): Trial =>
  letterTrial(name, async (bench, world) => {
    if (bench.letters.desk) await run(bench.letters.desk, bench, world)
  })

const act = (name: string) => ({ at: 5, who: 'ann', act: name, details: {} })

const version = (number: number, text: string, before = 'h0'): Repair => {
  const content = { headers: { 'x-n': String(number) }, data: new Uint8Array(Buffer.from(text)) }
  const hash = contentHash(content)
  return {
    version: number,
    at: number,
    who: 'ann',
    change: { set: { '$.n': number } },
    before,
    hash,
    ...content,
  }
}

export const deskTrials: readonly Trial[] = [
  trial('a version is kept beside its letter, which stays as it died', async (desk, { letters, write }) => {
    const [letter, other] = write(2)
    await letters.keep([letter!, other!])
    const first = version(1, '{"n":1}')
    const second = { ...version(2, '{"n":2}', first.hash), reason: 'once more' }
    const from = ['open'] as const
    const { id } = letter!
    assert.deepEqual(await desk.repair([{ id, from, repair: first }], act('repair')), [true])
    assert.deepEqual(await desk.repair([{ id, from, repair: second }], act('repair')), [true])
    const [found] = await letters.find({ ids: [id] }, 1)
    sameLetter(found!.letter, letter!)
    assert.deepEqual(found!.repair, second)
    assert.deepEqual(await desk.versions(id), [first, second])
    assert.equal((await letters.find({ ids: [other!.id] }, 1))[0]!.repair, undefined)
    await letters.mark([{ id, from, to: 'replaying', at: 9 }])
    assert.deepEqual((await letters.find({ ids: [id] }, 1))[0]!.repair, second)
  }),

  trial(
    'a repaired letter is found by its payload as it died and as it would be sent',
    async (desk, bench) => {
      const { letters, write, ids, service } = bench
      const written = write(2)
      await letters.keep(written)
      const [one, other] = written
      const from = ['open'] as const
      const first = version(1, '{"mail":"old","kept":"both"}')
      const second = version(2, '{"mail":"mended","total":7}', first.hash)
      await desk.repair([{ id: one!.id, from, repair: first }], act('repair'))
      await desk.repair([{ id: one!.id, from, repair: second }], act('repair'))
      assert.deepEqual(await ids({ payload: 'mended' }), [one!.id])
      assert.deepEqual(await ids({ where: '$.total = 7' }), [one!.id])
      assert.deepEqual(await ids({ payload: 'both' }), [], 'versions in between are of no concern')
      assert.deepEqual(await ids({ payload: 'trial', where: '$.trial = true' }), [other!.id, one!.id])
      assert.deepEqual(await ids({ payload: 'trial mended' }), [], 'one of the two, not a bit of each')
      assert.equal(await letters.count({ service, where: '$.mail = "mended"' }), 1)
    },
  ),

  trial('of two that repair one letter at once one wins', async (desk, { letters, write }, world) => {
    const [letter] = write(1)
    await letters.keep([letter!])
    const other = (await world.open()).store!.letters!.desk!
    const wanted = [{ id: letter!.id, from: ['open'] as const, repair: version(1, '1') }]
    const won = await Promise.all([desk.repair(wanted, act('repair')), other.repair(wanted, act('repair'))])
    assert.deepEqual(won.flat().sort(), [false, true])
    assert.equal((await desk.versions(letter!.id)).length, 1)
    const late = { id: letter!.id, from: ['open'] as const, repair: version(3, '3') }
    const closed = { id: letter!.id, from: ['discarded'] as const, repair: version(2, '2') }
    const unknown = { id: 'unknown', from: ['open'] as const, repair: version(1, '1') }
    assert.deepEqual(await desk.repair([late, closed, unknown], act('repair')), [false, false, false])
  }),

  trial('what is removed leaves no count behind', async (desk, { letters, write, ids, service }) => {
    const group = `f-${service}`
    const written = write(5, () => ({ fingerprint: group, error: 'of this group' }))
    await letters.keep(written)
    await letters.mark([{ id: written[0]!.id, from: ['open'], to: 'discarded', at: 9 }])
    await desk.repair([{ id: written[4]!.id, from: ['open'], repair: version(1, '1') }], act('repair'))
    const [oldest, newest] = [written[0]!.id, written[4]!.id]
    assert.deepEqual(await desk.remove([oldest, newest, 'unknown'], ['open'], act('purge')), [
      ...[false, true, false],
    ])
    assert.deepEqual(await ids(), idsOf(written.slice(0, 4).toReversed()))
    assert.equal(await letters.count({ service }), 4)
    assert.equal(await letters.count({ service, states: ['open'] }), 3)
    assert.deepEqual(await desk.versions(newest), [])
    const [narrowed] = await letters.groups.list(group, 1)
    assert.deepEqual([narrowed!.lastAt, narrowed!.sample], [written[3]!.buriedAt, written[3]!.id])
    assert.equal(await arrived(letters, group), 4)

    await desk.remove([oldest], ['discarded'], act('purge'))
    const [again] = await letters.groups.list(group, 1)
    assert.equal(again!.firstAt, written[1]!.buriedAt)
    const left = written.slice(1, 4).map(({ id }) => id)
    assert.deepEqual(await desk.remove(left, ['open', 'discarded'], act('purge')), [true, true, true])
    assert.deepEqual(await letters.groups.list(group, 1), [])
    assert.deepEqual(await letters.groups.tallies(group), [])
    assert.equal(await arrived(letters, group), 0)
    assert.equal(await letters.keep([written[2]!]), 1)
    assert.deepEqual(await ids(), [written[2]!.id])
  }),

  trial(
    'what is brought has its state and versions, and changes nothing that is there',
    async (desk, bench) => {
      const { letters, write, service } = bench
      const [kept, one, two] = write(3)
      await letters.keep([kept!])
      const repairs = [version(1, '1'), version(2, '2')]
      const brought = [
        { letter: { ...kept!, error: 'another' }, state: 'discarded', stateAt: 7, repairs: [] },
        { letter: one!, state: 'resolved', stateAt: 7, repairs: [] },
        { letter: two!, state: 'open', stateAt: 8, repairs },
      ] as const
      assert.deepEqual(await desk.bring(brought, act('import')), [false, true, true])
      assert.deepEqual(await desk.bring(brought, act('import')), [false, false, false])
      const [first, second, third] = await letters.find({ service }, 10)
      sameLetter(third!.letter, kept!)
      assert.equal(third!.state, 'open')
      sameLetter(second!.letter, one!)
      assert.deepEqual([second!.state, second!.stateAt, second!.repair], ['resolved', 7, undefined])
      assert.deepEqual([first!.state, first!.repair], ['open', repairs[1]])
      assert.deepEqual(await desk.versions(two!.id), repairs)
      assert.equal(await letters.count({ service, states: ['open'] }), 2)
      assert.equal(await letters.count({ service, states: ['resolved'] }), 1)
    },
  ),

  trial(
    'what is brought counts like what was kept, but is no death, however often it is brought',
    async (desk, bench, world) => {
      const { letters, write, service } = bench
      const fingerprint = `f-${world.name('brought')}`
      const start = world.now()
      const written = write(4, (n) => ({ fingerprint, buriedAt: start + n }))
      await letters.keep(written.slice(0, 1))
      await letters.mark([{ id: written[0]!.id, from: ['open'], to: 'resolved', at: start }])
      const died = async () => (await letters.groups.deaths()).filter((each) => each.service === service)
      const before = await died()
      assert.deepEqual(
        before.map((each) => each.letters),
        [1],
      )
      const states = ['resolved', 'open', 'discarded', 'dead again'] as const
      const brought = written.map((letter, n) => ({
        letter,
        state: states[n]!,
        stateAt: start + 9,
        repairs: [],
      }))
      for (const expected of [
        [false, true, true, true],
        [false, false, false, false],
      ]) {
        assert.deepEqual(await desk.bring(brought, act('import')), expected)
        assert.deepEqual(await died(), before)
        const tallies = await letters.groups.tallies(fingerprint)
        assert.deepEqual(tallies.map(({ state, count }) => `${count} ${state}`).sort(), [
          '1 dead again',
          '1 discarded',
          '1 open',
          '1 resolved',
        ])
        assert.equal(await arrived(letters, fingerprint), 4)
        const [group] = await letters.groups.list(fingerprint, 1)
        const { firstAt, lastAt, sample, regressedAt } = group!
        assert.deepEqual(
          { firstAt, lastAt, sample },
          { firstAt: start, lastAt: start + 3, sample: written[3]!.id },
        )
        assert.equal(regressedAt, undefined, 'to be here anew is not to come back')
      }
      // purged and brought again, as from a backup: the same record, and still no death more
      await desk.remove(idsOf(written), [...states], act('purge'))
      await desk.bring(brought, act('import'))
      assert.deepEqual(await died(), before)
      assert.equal(await letters.count({ fingerprint }), 4)
    },
  ),

  trial('each act is in the audit with what it took effect on', async (desk, { letters, write }, world) => {
    const { audit } = (await world.open()).store!
    const [letter] = write(1)
    const { id } = letter!
    await desk.bring([{ letter: letter!, state: 'open', stateAt: 1, repairs: [] }], act(`import ${id}`))
    await desk.bring([{ letter: letter!, state: 'open', stateAt: 1, repairs: [] }], act('import of nothing'))
    await desk.repair([{ id, from: ['open'], repair: version(1, '1') }], act(`repair ${id}`))
    await desk.remove([id], ['resolved'], act('removal of nothing'))
    await desk.remove([id], ['open'], act(`remove ${id}`))
    const acts = (await audit!.recent(50)).filter(({ target }) => target === `letter ${id}`)
    assert.deepEqual(
      acts.map((entry) => [entry.act, entry.count]),
      [
        [`remove ${id}`, 1],
        [`repair ${id}`, 1],
        [`import ${id}`, 1],
      ],
    )
    assert.equal(await letters.count({ ids: [id] }), 0)
  }),
]

const arrived = async (letters: Bench['letters'], group: string): Promise<number> =>
  (await letters.groups.arrivals(0, group)).reduce((sum, { count }) => sum + count, 0)
