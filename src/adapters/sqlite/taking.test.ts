import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SQLInputValue } from 'node:sqlite'
import { afterAll, expect, it } from 'vitest'
import { testTools } from '../../testing/tools.ts'
import { type File, openFile } from './file.ts'
import { isFollower, letNextGo } from './order.ts'
import { subscriptionsOf } from './subscriptions.ts'
import { anyReady, countReady, nextReady, passBy, takeParcels } from './taking.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-taking-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Every statement that is prepared through it, and how SQLite goes about it. */
const plansOf = (file: File, step: (file: File) => void): readonly string[] => {
  const texts: string[] = []
  step({
    ...file,
    sql: (text) => {
      texts.push(text)
      return file.sql(text)
    },
  })
  return texts.flatMap((text) => {
    const values: SQLInputValue[] = [...text.matchAll(/\?/g)].map(() => null)
    return file
      .sql(`EXPLAIN QUERY PLAN ${text}`)
      .all(...values)
      .map((row) => row.detail as string)
  })
}

it('taking costs what is taken: ranges of one index, no sorting, whatever lies there', async () => {
  const file = await openFile(join(folder, 'plans.db'), testTools())
  const door = subscriptionsOf(file).destination({ name: '_office', expire: 1000 })
  const terms = { lease: 1000 }
  const turns = { window: 10, retrying: 0, passed: 0 }
  for (const passing of [passBy(undefined), passBy(new Set(['a']))]) {
    const plans = plansOf(file, (watched) => {
      anyReady(watched, door, 1, passing)
      nextReady(watched, door, 1)
      takeParcels(watched, door, terms, { max: 10, turns, now: 1, passing })
      isFollower(watched, door.id, 'k')
      letNextGo(watched, door.id, 'k')
      countReady(watched, { ...door, ordered: true }, 1)
    })
    const onParcels = plans.filter((plan) => plan.includes('reprieve_parcel'))
    expect(onParcels.length).toBeGreaterThanOrEqual(6)
    for (const plan of onParcels) expect(plan).toMatch(/^SEARCH/)
    expect(plans.filter((plan) => plan.includes('TEMP B-TREE'))).toEqual([])
  }
  file.drop()
})

it('passing types by reads the index only, so that a breaker may stay open over a long queue', async () => {
  const file = await openFile(join(folder, 'passing.db'), testTools())
  const door = subscriptionsOf(file).destination({ name: '_office' })
  const plans = plansOf(file, (watched) => anyReady(watched, door, 1, passBy(new Set(['a']))))
  expect(plans.join()).toContain('COVERING INDEX reprieve_parcel_at')
  file.drop()
})
