import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWith } from '../../../test/services/urls.ts'
import { type Desk, deskAt, plainly } from '../../../test/stores/postgres.ts'
import type { LetterState, Letters } from '../../contracts/letters.ts'
import { letterId } from '../../core/letter.ts'
import { sampleLetters } from '../../testing/letters.ts'

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
    id: letterId('a', 'b', String(n), 0),
    fingerprint: PRINTS[n % 4]!,
    service: n % 3 === 0 ? 'pay-svc' : 'mail-svc',
  }))

  it('keep, mark, tend and regroup the same letters at once: none waits in a circle, and every count is true', async () => {
    const int = (below: number) => Math.floor(Math.random() * below)
    const some = <T>(all: readonly T[]): T => all[int(all.length)]!
    const several = (count: number) => Array.from({ length: count }, () => some(written))
    const act = { at: 1, who: 'ann', act: 'discard', details: {} }
    const office = async (letters: Letters): Promise<number> => {
      let kept = 0
      for (let n = 0; n < 40; n++) {
        const what = int(10)
        if (what < 4) kept += await letters.keep(several(30))
        else if (what < 8) {
          const marks = several(20).map(({ id }) => ({ id, from: STATES, to: some(STATES), at: n }))
          await letters.mark(marks, int(3) === 0 ? act : undefined)
        } else if (what < 9)
          await letters.groups.tend(some(PRINTS), { owner: 'ann' }, n, { ...act, target: 'g', count: 1 })
        else await letters.groups.regroup(some(PRINTS), () => some(PRINTS), 25)
      }
      return kept + (await letters.keep(written))
    }
    const stores = await Promise.all([1, 2, 3, 4].map(() => desk.open({ pool: '2' })))
    const kept = await Promise.all(stores.flatMap(({ letters }) => [office(letters!), office(letters!)]))
    expect(kept.reduce((sum, each) => sum + each, 0)).toBe(written.length)

    const counted = `SELECT fingerprint, state, service, count(*)::integer AS n FROM ${desk.schema}.letter GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`
    const tallied = `SELECT fingerprint, state, service, sum(count)::integer AS n FROM ${desk.schema}.letter_tally GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`
    expect(await desk.ask(tallied)).toEqual(await desk.ask(counted))
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
