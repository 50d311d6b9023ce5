import assert from 'node:assert/strict'
import type { Tally } from '../../contracts/groups.ts'
import type { LetterFilter, LetterMark, LetterState } from '../../contracts/letters.ts'
import { SLOT, slotOf } from '../../core/group.ts'
import type { Letter } from '../../core/letter.ts'
import { freshTrail } from '../../core/trail.ts'
import { type Bench, idsOf, trial } from './letters-bench.ts'
import type { Trial, TrialWorld } from './trial.ts'

/** A fingerprint that no other trial has. */
const print = (world: TrialWorld, version = 'f1') => `${version}-${world.name('print')}`

const marks = (letters: readonly Letter[], from: LetterState, to: LetterState, at: number): LetterMark[] =>
  letters.map(({ id }) => ({ id, from: [from], to, at }))

const counts = (tallies: readonly Tally[]) =>
  Object.fromEntries(
    [...Map.groupBy(tallies, ({ state }) => state)]
      .map(([state, alike]) => [state, alike.reduce((sum, { count }) => sum + count, 0)] as const)
      .sort(),
  )

const only = async ({ letters }: Bench, fingerprint: string) => {
  const found = await letters.groups.list(fingerprint, 10)
  assert.equal(found.length, 1)
  return found[0]!
}

export const groupTrials: readonly Trial[] = [
  trial('a group tells what its letters have in common', async (bench, world) => {
    const { letters, service, write } = bench
    const fingerprint = print(world)
    const start = world.now()
    const written = write(5, (n) => ({ fingerprint, error: `no. ${n}`, buriedAt: start + n }))
    await letters.keep([3, 0, 4, 1].map((n) => written[n]!))
    await letters.keep([...written, written[2]!])
    const { sample, error, firstAt, lastAt } = await only(bench, fingerprint)
    assert.deepEqual(
      { sample, error, firstAt, lastAt },
      { sample: written[4]!.id, error: 'no. 4', firstAt: start, lastAt: start + 4 },
    )
    const { event, topic, category, kind, code } = written[0]!
    const alike = { fingerprint, service, topic, type: event.type, category, kind, code }
    assert.deepEqual(await letters.groups.tallies(fingerprint), [{ ...alike, state: 'open', count: 5 }])
    const all = await letters.groups.tallies()
    assert.deepEqual(
      all.filter((each) => each.fingerprint === fingerprint).map(({ count }) => count),
      [5],
    )
  }),

  trial('how many ever died and how often they were tried before is counted once', async (bench) => {
    const { letters, service, write } = bench
    const written = write(4, (n) => ({ trail: { ...freshTrail, spent: n } }))
    await letters.keep(written.slice(0, 3))
    await letters.keep(written)
    await letters.mark(marks(written, 'open', 'discarded', 0))
    const { topic, event } = written[0]!
    const died = (await letters.groups.deaths()).filter((each) => each.service === service)
    assert.deepEqual(died, [{ service, topic, type: event.type, letters: 4, retries: 3 }])
  }),

  trial('tallies follow every mark, and only those that took effect', async (bench, world) => {
    const { letters, service, write } = bench
    const fingerprint = print(world)
    const written = write(6, () => ({ fingerprint }))
    await letters.keep(written)
    const at = world.now()
    await letters.mark(marks(written.slice(0, 4), 'open', 'replaying', at))
    await letters.mark([
      ...marks(written.slice(0, 2), 'replaying', 'resolved', at),
      ...marks(written.slice(2, 3), 'replaying', 'dead again', at),
      ...marks(written, 'discarded', 'open', at),
      ...marks(written.slice(4, 5), 'open', 'discarded', at),
    ])
    const expected = { 'dead again': 1, discarded: 1, open: 1, replaying: 1, resolved: 2 }
    assert.deepEqual(counts(await letters.groups.tallies(fingerprint)), expected)
    for (const [state, count] of Object.entries(expected)) {
      const filter: LetterFilter = { fingerprint, states: [state as LetterState] }
      assert.equal(await letters.count(filter), count, state)
      assert.equal((await letters.find(filter, 10)).length, count, state)
    }
    assert.equal(await letters.groups.oldest(['resolved'], service), written[0]!.buriedAt)
    assert.equal(await letters.groups.oldest(['open', 'replaying'], service), written[3]!.buriedAt)
    assert.equal(await letters.groups.oldest(['quarantined'], service), undefined)
  }),

  trial('two that keep and mark at once leave tallies that are true', async (bench, world) => {
    const { letters, write } = bench
    const other = (await world.open()).store!.letters!
    const fingerprint = print(world)
    const written = write(40, () => ({ fingerprint }))
    await Promise.all([letters.keep(written), other.keep(written)])
    const at = world.now()
    await Promise.all([
      letters.mark(marks(written.slice(0, 30), 'open', 'replaying', at)),
      other.mark(marks(written.slice(10), 'open', 'discarded', at)),
    ])
    const told = counts(await letters.groups.tallies(fingerprint))
    assert.equal((told.replaying ?? 0) + (told.discarded ?? 0), 40)
    for (const state of ['replaying', 'discarded'] as const)
      assert.equal((await letters.find({ fingerprint, states: [state] }, 100)).length, told[state])
  }),

  trial('arrivals are counted by the time of burial', async (bench, world) => {
    const { letters, write } = bench
    const fingerprint = print(world)
    const now = slotOf(world.now())
    const ago = [0, 0, SLOT, 5 * SLOT]
    await letters.keep(write(4, (n) => ({ fingerprint, buriedAt: now - ago[n]! })))
    const seen = async (from: number) =>
      (await letters.groups.arrivals(from, fingerprint))
        .toSorted((a, b) => b.at - a.at)
        .map(({ at, count }) => [(now - at) / SLOT, count])
    assert.deepEqual(await seen(now - 10 * SLOT), [
      [0, 2],
      [1, 1],
      [5, 1],
    ])
    assert.deepEqual(await seen(now - 2 * SLOT + 1), [
      [0, 2],
      [1, 1],
    ])
    const all = await letters.groups.arrivals(now - SLOT)
    assert.equal(all.filter((each) => each.fingerprint === fingerprint).length, 2)
  }),

  trial('a group comes back with a letter that died after all were at an end', async (bench, world) => {
    const { letters, write } = bench
    const fingerprint = print(world)
    const start = world.now()
    const written = write(5, (n) => ({ fingerprint, buriedAt: start + n * 100 }))
    const back = async () => (await only(bench, fingerprint)).regressedAt
    await letters.keep(written.slice(0, 2))
    await letters.mark(marks([written[0]!], 'open', 'resolved', start + 150))
    await letters.keep([written[2]!])
    assert.equal(await back(), undefined, 'one was open still')
    await letters.mark(marks(written.slice(1, 3), 'open', 'resolved', start + 350))
    await letters.keep([written[3]!])
    assert.equal(await back(), undefined, 'it died before they were resolved')
    await letters.mark(marks([written[3]!], 'open', 'discarded', start + 360))
    await letters.keep([written[4]!])
    assert.equal(await back(), start + 400)
  }),

  trial('what is said of a group stays until something else is said', async (bench, world) => {
    const { letters, write } = bench
    const fingerprint = print(world)
    await letters.keep(write(1, () => ({ fingerprint })))
    const { tend } = letters.groups
    assert.equal(await tend('nobody', { owner: 'ann' }, 5), false)
    assert.equal(await tend(fingerprint, { owner: 'ann', note: 'the "mailer"', snoozedUntil: 77 }, 5), true)
    assert.equal(await tend(fingerprint, { ticket: 'OPS-7', snoozedUntil: null }, 6), true)
    await letters.keep(write(1, () => ({ fingerprint })))
    const { owner, note, ticket, snoozedUntil, tendedAt } = await only(bench, fingerprint)
    assert.deepEqual(
      { owner, note, ticket, snoozedUntil, tendedAt },
      { owner: 'ann', note: 'the "mailer"', ticket: 'OPS-7', snoozedUntil: undefined, tendedAt: 6 },
    )
  }),

  trial('letters are grouped anew some at a time, and nothing is lost', async (bench, world) => {
    const { letters, write } = bench
    const old = print(world, 'f0')
    const name = print(world)
    const start = slotOf(world.now())
    const written = write(7, (n) => ({ fingerprint: old, buriedAt: start + n }))
    await letters.keep(written)
    await letters.mark(marks(written.slice(0, 2), 'open', 'resolved', start + 50))
    await letters.groups.tend(old, { owner: 'ann' }, start + 60)
    assert.equal((await letters.groups.list(old, 5, 'f0')).length, 0)
    const anew = ({ id }: Letter) => `${name}-${written.findIndex((each) => each.id === id) % 2}`
    const moved: number[] = []
    while ((await letters.groups.list(old, 5, 'f1')).length > 0)
      moved.push(await letters.groups.regroup(old, anew, 3))
    assert.deepEqual(moved, [3, 3, 1])
    assert.equal(await letters.groups.regroup(old, anew, 3), 0)
    assert.deepEqual(await letters.groups.tallies(old), [])
    const found = await letters.groups.list(name, 5)
    assert.deepEqual(found.map(({ fingerprint, owner }) => [fingerprint, owner]).sort(), [
      [`${name}-0`, 'ann'],
      [`${name}-1`, 'ann'],
    ])
    assert.deepEqual(counts(await letters.groups.tallies(`${name}-0`)), { open: 3, resolved: 1 })
    assert.deepEqual(counts(await letters.groups.tallies(`${name}-1`)), { open: 2, resolved: 1 })
    const arrived = await letters.groups.arrivals(start, `${name}-0`)
    assert.deepEqual(
      arrived.map(({ count }) => count),
      [4],
    )
    const [kept] = await letters.find({ ids: [written[6]!.id] }, 1)
    assert.equal(kept!.letter.fingerprint, `${name}-0`)
    assert.deepEqual(
      (await letters.find({ fingerprint: `${name}-1` }, 9)).map(({ letter }) => letter.id),
      [...idsOf([written[5]!, written[3]!, written[1]!])],
    )
  }),
]
