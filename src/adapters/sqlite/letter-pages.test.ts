import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import type { LetterFilter } from '../../contracts/letters.ts'
import { derivedId } from '../../core/letter.ts'
import { sampleLetters } from '../../testing/letters.ts'
import { testTools } from '../../testing/tools.ts'
import type { File } from './file.ts'
import { open } from './index.ts'
import { page } from './letter-pages.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-pages-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const filled = async (count: number): Promise<DatabaseSync> => {
  const path = join(folder, `${count}.db`)
  const { transport, store } = await open(`sqlite:${path}`, testTools())
  const letters = sampleLetters(count, 1_800_000_000_000, (n) => ({
    id: derivedId(['a', n]),
    fingerprint: `f1-${n % 3}`,
    service: n % 3 === 0 ? 'pay-svc' : 'mail-svc',
    kind: n % 3 === 2 ? 'timeout' : 'integration',
  }))
  await store.letters.keep(letters)
  // all but a few of one service were resolved long ago
  const old = letters.filter(({ service }, n) => service === 'pay-svc' && n > 30)
  await store.letters.mark(old.map(({ id }) => ({ id, from: ['open'], to: 'resolved', at: 5 })))
  await transport.close()
  await store.close()
  return new DatabaseSync(path)
}

/** How SQLite means to answer what a look asks. */
const planOf = (database: DatabaseSync, look: (file: File) => unknown): string => {
  const plans: string[] = []
  look({
    sql: (text: string) => {
      const statement = database.prepare(text)
      return {
        all: (...values: never[]) => {
          plans.push(
            ...database
              .prepare(`EXPLAIN QUERY PLAN ${text}`)
              .all(...values)
              .map((row) => String(row.detail)),
          )
          return statement.all(...values)
        },
      }
    },
  } as unknown as File)
  return plans.join('\n')
}

const LIVE = ['open', 'replaying', 'quarantined'] as const
const FILTERS: readonly LetterFilter[] = [
  { states: LIVE },
  { service: 'pay-svc', states: LIVE },
  { kind: 'timeout' },
  { fingerprint: 'f1-1', states: ['open'] },
  { topic: 'tasks', category: 'transient', code: 'ECONNREFUSED' },
]

describe('a page of letters', () => {
  it('walks along an index that lies in order, whatever is asked, and never sorts letters', async () => {
    const database = await filled(2000)
    for (const filter of FILTERS) {
      const plan = planOf(database, (file) => page(file, filter, 20))
      const name = JSON.stringify(filter)
      expect(plan, name).toMatch(/SEARCH reprieve_letter USING (COVERING )?INDEX reprieve_letter_fingerprint/)
      expect(plan, name).not.toMatch(/SCAN reprieve_letter(?!_)/)
    }
    database.close()
  })

  it('costs the same steps of the database with a hundred times the letters', async () => {
    const [few, many] = [await filled(300), await filled(30_000)]
    for (const filter of FILTERS)
      expect(steps(many, filter), JSON.stringify(filter)).toBeLessThan(2 * steps(few, filter))
    few.close()
    many.close()
  })

  it('of groups reads no letter at all', async () => {
    const database = await filled(100)
    for (const table of ['group', 'tally', 'arrival']) {
      const [row] = database.prepare(`SELECT count(*) AS n FROM reprieve_letter_${table}`).all()
      expect(row!.n, table).toBeLessThan(10)
    }
    database.close()
  })
})

/** Rows that the branches of the page's question step over, counted by a function of ours inside it. */
const steps = (database: DatabaseSync, filter: LetterFilter): number => {
  let rows = 0
  database.function('seen', { deterministic: false }, (_id) => {
    rows++
    return 1
  })
  page(
    {
      sql: (text: string) =>
        database.prepare(
          text.replaceAll(/FROM reprieve_letter WHERE/g, 'FROM reprieve_letter WHERE seen(id) = 1 AND'),
        ),
    } as unknown as File,
    filter,
    20,
  )
  expect(rows).toBeGreaterThan(0)
  return rows
}
