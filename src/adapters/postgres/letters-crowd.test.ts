import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWith } from '../../../test/services/urls.ts'
import { type Desk, deskAt, plainly } from '../../../test/stores/postgres.ts'
import type { LetterState, Letters } from '../../contracts/letters.ts'
import type { Operations } from '../../contracts/operations.ts'
import type { AppStore } from '../../contracts/store.ts'
import { derivedId } from '../../core/letter.ts'
import { sampleLetters } from '../../testing/letters.ts'

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)

describeWith('postgres', 'many offices on one PostgreSQL', (url) => {
  // a database of its own, for the server counts deadlocks by database
  const name = `crowd_${randomBytes(6).toString('hex')}`
  const at = new URL(url)
  at.pathname = `/${name}`
  let desk: Desk
  beforeAll(async () => {
    await plainly(url, `CREATE DATABASE ${name}`)
    desk = await deskAt(at.href)
  })
  afterAll(async () => {
    await desk.close()
    await plainly(url, `DROP DATABASE ${name} WITH (FORCE)`)
  })

  const PRINTS = ['f1-a', 'f1-b', 'f0-c', 'f2-d']
  const STATES: readonly LetterState[] = ['open', 'replaying', 'resolved', 'discarded']
  const written = sampleLetters(400, 1_800_000_000_000, (n) => ({
    id: derivedId(['a', n]),
    fingerprint: PRINTS[n % 4]!,
    service: n % 3 === 0 ? 'pay-svc' : 'mail-svc',
  }))

  it('keep, mark, tend, regroup, send and remove the same letters at once: none waits in a circle, and every count is true', async () => {
    const int = (below: number) => Math.floor(Math.random() * below)
    const some = <T>(all: readonly T[]): T => all[int(all.length)]!
    const several = (count: number) => Array.from({ length: count }, () => some(written))
    const act = { at: 1, who: 'ann', act: 'discard', details: {} }
    /** An operation that sends some letters and takes others away, and is given up in the midst of it. */
    const operate = async (operations: Operations, n: number): Promise<number> => {
      const { operation, version } = await operations.begin({
        ...{ id: randomUUID(), kind: 'replay', state: 'ramp', since: n, by: 'ann', at: n, chosen: {} },
        plan: { batch: 50, although: [] },
      })
      const items = several(30).map(
        ({ id }, place) => ({ place, letter: id, state: 'waiting', at: n }) as const,
      )
      await operations.add(operation.id, version, items)
      const marks = items.map(({ place }) => {
        const letter = { from: ['open'], to: int(4) === 0 ? 'removed' : 'replaying' } as const
        return {
          place,
          from: ['waiting'],
          to: letter.to === 'removed' ? 'purged' : 'sending',
          at: n,
          letter,
        } as const
      })
      const done = (await operations.mark(operation.id, version, marks, act))!
      await operations.change({ ...operation, state: 'cancelled' }, version)
      return done.filter((each, i) => each && marks[i]!.to === 'purged').length
    }
    const removed: number[] = []
    const office = async ({
      letters,
      operations,
    }: {
      letters: Letters
      operations: Operations
    }): Promise<number> => {
      let kept = 0
      for (let n = 0; n < 40; n++) {
        const what = int(12)
        if (what < 4) kept += await letters.keep(several(30))
        else if (what < 8) {
          const marks = several(20).map(({ id }) => ({ id, from: STATES, to: some(STATES), at: n }))
          await letters.mark(marks, int(3) === 0 ? act : undefined)
        } else if (what < 9)
          await letters.groups.tend(some(PRINTS), { owner: 'ann' }, n, { ...act, target: 'g', count: 1 })
        else if (what < 11) removed.push(await operate(operations, n))
        else await letters.groups.regroup(some(PRINTS), () => some(PRINTS), 25)
      }
      return kept + (await letters.keep(written))
    }
    const stores = await Promise.all([1, 2, 3, 4].map(() => desk.open({ pool: '2' })))
    const kept = await Promise.all(
      stores.flatMap((store) => [office(store as AppStore), office(store as AppStore)]),
    )
    expect(sum(kept)).toBe(sum(removed) + (await stores[0]!.letters!.count({})))
    expect(sum(removed)).toBeGreaterThan(0)

    const counted = `SELECT fingerprint, state, service, count(*)::integer AS n FROM ${desk.schema}.letter GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`
    const tallied = `SELECT fingerprint, state, service, sum(count)::integer AS n FROM ${desk.schema}.letter_tally GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`
    expect(await desk.ask(tallied)).toEqual(await desk.ask(counted))
    const items = `SELECT operation, state, because, count(*)::integer AS n FROM ${desk.schema}.operation_item GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`
    const told = `SELECT operation, state, because, count::integer AS n FROM ${desk.schema}.operation_tally WHERE count <> 0 ORDER BY 1, 2, 3`
    expect(await desk.ask(told)).toEqual(await desk.ask(items))
    const groups = await desk.ask(
      `SELECT g.fingerprint FROM ${desk.schema}.letter_group AS g
       FULL JOIN (SELECT DISTINCT fingerprint FROM ${desk.schema}.letter) AS l USING (fingerprint)
       WHERE g.first_at IS NULL OR l.fingerprint IS NULL`,
    )
    expect(groups).toEqual([])
    const [stat] = await desk.ask(
      `SELECT deadlocks::integer AS n FROM pg_stat_database WHERE datname = '${name}'`,
    )
    expect(stat).toEqual({ n: 0 })
    const audit = stores[0]!.audit!
    const entries = await audit.read(undefined, 1000)
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, n) => n + 1))
    expect(await audit.head()).toEqual({ count: entries.length, hash: entries.at(-1)!.hash })
  })
})
