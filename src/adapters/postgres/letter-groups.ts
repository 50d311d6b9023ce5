import type { Arrivals, Groups, KeptGroup, Tally } from '../../contracts/groups.ts'
import { slotOf } from '../../core/group.ts'
import { appendTo } from './audit.ts'
import { instant } from './keys.ts'
import { deathOf } from './letter-deaths.ts'
import { oldestOf } from './letter-pages.ts'
import { regroup } from './letter-regroup.ts'
import { behind, type Row, talliedOf } from './letter-rows.ts'
import { boundedOf, readText, textOf } from './letter-words.ts'
import type { Pool } from './pool.ts'
import { again } from './trouble.ts'

export const groupsOf = (pool: Pool, schema: string, ready: () => Promise<void>): Groups => {
  const read = async (text: string, values: readonly unknown[]): Promise<readonly Row[]> => {
    await ready()
    return (await pool.ask({ text, values })).rows
  }
  /** All, or those of one group: $1 is null or names it. */
  const one = '($1::text IS NULL OR fingerprint = $1)'
  return {
    list: async (beginning, most, except) =>
      (
        await read(
          `SELECT * FROM ${schema}.letter_group
          WHERE fingerprint >= $1 AND fingerprint < $2 AND NOT (fingerprint >= $3 AND fingerprint < $4)
          ORDER BY last_at DESC, fingerprint LIMIT $5`,
          [
            textOf(beginning),
            behind(beginning),
            textOf(except ?? ''),
            except === undefined ? '' : behind(except),
            most,
          ],
        )
      ).map(groupOf),
    tallies: async (fingerprint) =>
      (await read(`SELECT * FROM ${schema}.letter_tally WHERE ${one}`, [nameOf(fingerprint)])).map(tallyOf),
    arrivals: async (from, fingerprint) =>
      (
        await read(`SELECT * FROM ${schema}.letter_arrival WHERE ${one} AND slot >= $2 AND count > 0`, [
          nameOf(fingerprint),
          slotOf(instant(from)),
        ])
      ).map(
        (row): Arrivals => ({
          fingerprint: row.fingerprint as string,
          at: Number(row.slot),
          count: Number(row.count),
        }),
      ),
    deaths: async () => (await read(`SELECT * FROM ${schema}.letter_death`, [])).map(deathOf),
    oldest: async (states, service) => {
      await ready()
      return oldestOf(pool.ask, schema, { states, ...(service !== undefined && { service }) })
    },
    tend: async (fingerprint, tending, at, act) => {
      await ready()
      const said = Object.entries(tending).filter(([, value]) => value !== undefined)
      const sets = said.map(([name], i) => `${COLUMN[name as keyof typeof COLUMN]} = $${i + 3}, `).join('')
      const values = said.map(([, value]) =>
        typeof value === 'number' ? instant(value) : value && textOf(value),
      )
      return again(() =>
        pool.transaction(async (ask) => {
          const { rowCount } = await ask({
            text: `UPDATE ${schema}.letter_group SET ${sets} tended_at = $1 WHERE fingerprint = $2`,
            values: [instant(at), boundedOf(fingerprint), ...values],
          })
          if (act && rowCount === 1) await appendTo(ask, schema, act)
          return rowCount === 1
        }),
      )
    },
    regroup: async (fingerprint, anew, most) => {
      await ready()
      return again(() => pool.transaction((ask) => regroup(ask, schema, boundedOf(fingerprint), anew, most)))
    },
  }
}

const COLUMN = { owner: 'owner', note: 'note', ticket: 'ticket', snoozedUntil: 'snoozed_until' } as const

const nameOf = (fingerprint: string | undefined): string | null =>
  fingerprint === undefined ? null : boundedOf(fingerprint)

const groupOf = (row: Row): KeptGroup => {
  const texts = (['owner', 'note', 'ticket'] as const).filter((name) => row[name] !== null)
  return {
    fingerprint: row.fingerprint as string,
    firstAt: Number(row.first_at),
    lastAt: Number(row.last_at),
    sample: readText(row.sample as string),
    error: readText(row.error as string),
    ...(row.regressed_at !== null && { regressedAt: Number(row.regressed_at) }),
    ...(row.tended_at !== null && { tendedAt: Number(row.tended_at) }),
    ...Object.fromEntries(texts.map((name) => [name, readText(row[name] as string)])),
    ...(row.snoozed_until !== null && { snoozedUntil: Number(row.snoozed_until) }),
  }
}

const tallyOf = (row: Row): Tally => {
  const [fingerprint, state, service, topic, type, category, kind, code] = talliedOf(row).map(readText)
  return {
    ...({ fingerprint, service, topic, type, category, kind, state } as Tally),
    ...(code !== '' && { code: code! }),
    count: Number(row.count),
  }
}
