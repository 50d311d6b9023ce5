import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { open as openSqlite } from '../../src/adapters/sqlite/index.ts'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import type { Tools } from '../../src/contracts/tools.ts'
import { fingerprint } from '../../src/core/fingerprint.ts'
import { type Letter, writeLetter } from '../../src/core/letter.ts'
import { extendTrail, freshTrail } from '../../src/core/trail.ts'
import { eventOf, orderOf } from '../load.ts'

export const tools: Tools = { clock: systemClock, dice: systemDice(), journal: () => {} }

export const TYPE = 'order.placed'
const SERVICES = 5
const CAUSES = 30
export const START = Date.UTC(2026, 0, 1)

/** What broke thirty times over: each service has six causes of its own. */
const causes = Array.from({ length: CAUSES }, (_, cause) => {
  const service = `svc-${cause % SERVICES}`
  const failure = {
    category: cause % 3 === 0 ? ('transient' as const) : ('permanent' as const),
    kind: cause % 2 === 0 ? ('integration' as const) : ('schema' as const),
    name: 'ConnectError',
    message: `no answer from host ${'abcdefghijklmnopqrstuvwxyz'[cause % 26]}${cause}`,
    code: `E${cause}`,
    because: 'bench',
  }
  const where = { service, topic: TYPE, consumerGroup: service, transport: 'sqlite' }
  return { failure, where, print: fingerprint(failure, { service, topic: TYPE, type: TYPE }) }
})

/** One kilobyte of payload, three failed attempts, a millisecond younger than the one before. */
export const letterOf = (n: number, only?: number): Letter => {
  const { failure, where, print } = causes[only ?? n % CAUSES]!
  const at = START + n
  const event = eventOf(TYPE, orderOf(n))
  let trail = freshTrail
  for (let attempt = 0; attempt < 3; attempt++) trail = extendTrail(trail, failure, at)
  return writeLetter({ event, trail, due: at }, where, `_${where.service}.deadletter`, {
    ...{ reason: 'attempts exhausted', failure, at, limit: 3, fingerprint: print },
  })
}

export const lettersFrom = (from: number, count: number, only?: number): readonly Letter[] =>
  Array.from({ length: count }, (_, i) => letterOf(from + i, only))

const GULP = 1000
/** So many are kept one by one; of more they are copied by the database, which takes minutes less. */
export const MADE = 10_000

/** Where files with letters are made once for all processes of a run. Nobody writes to them after that. */
export const fileWith = async (folder: string, count: number, only?: number): Promise<string> => {
  const path = join(folder, `${count}${only === undefined ? '' : '-alike'}.db`)
  if (existsSync(path)) return path
  mkdirSync(folder, { recursive: true })
  const making = `${path}.${process.pid}`
  const { transport, store } = await openSqlite(`sqlite:${making}`, tools)
  const made = count > MADE && count % MADE === 0 ? MADE : count
  for (let from = 0; from < made; from += GULP)
    await store.letters.keep(lettersFrom(from, Math.min(GULP, made - from), only))
  await transport.close()
  await store.close()
  if (count > made) multiply(making, count / made)
  renameSync(making, path)
  return path
}

const COLUMNS = 'service, topic, category, kind, fingerprint, state, state_at, type, event_type, code'

/** Copies of each letter, with ids of their own, each set of them younger than the one before; and what is counted of them. */
const multiply = (path: string, times: number): void => {
  const database = new DatabaseSync(path)
  // nobody else has it yet: what fails is made anew, and needs no journal
  database.exec('PRAGMA journal_mode = DELETE; PRAGMA journal_mode = OFF')
  database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -500000')
  const anew = "printf('%08x', ?1) || substr(id, 9)"
  const copy = database.prepare(`
    INSERT INTO reprieve_letter (number, id, buried_at, ${COLUMNS}, outline)
    SELECT number + ?1 * ${MADE}, ${anew}, buried_at + ?1 * ${MADE}, ${COLUMNS}, outline
    FROM reprieve_letter WHERE number <= ${MADE} ORDER BY number`)
  const copyEnvelope = database.prepare(`
    INSERT INTO reprieve_envelope (letter, envelope)
    SELECT letter + ?1 * ${MADE}, CAST(replace(CAST(envelope AS TEXT), id, ${anew}) AS BLOB)
    FROM reprieve_envelope JOIN reprieve_letter ON number = letter WHERE letter <= ${MADE} ORDER BY letter`)
  const copyContent = database.prepare(`
    INSERT INTO reprieve_content (letter, headers, data)
    SELECT letter + ?1 * ${MADE}, headers, data FROM reprieve_content WHERE letter <= ${MADE} ORDER BY letter`)
  database.exec('BEGIN')
  for (let n = 1; n < times; n++) {
    copy.run(n)
    copyEnvelope.run(n)
    copyContent.run(n)
  }
  database.exec(`
    UPDATE reprieve_letter_tally SET count = count * ${times};
    UPDATE reprieve_letter_death SET letters = letters * ${times}, retries = retries * ${times};
    UPDATE reprieve_letter_group AS g SET last_at = last_at + ${(times - 1) * MADE},
      sample = (SELECT id FROM reprieve_letter AS l WHERE l.fingerprint = g.fingerprint
        ORDER BY buried_at DESC LIMIT 1);
    COMMIT; ANALYZE`)
  database.close()
}

export const groupOf = (cause: number): string => causes[cause]!.print
export const serviceOf = (cause: number): string => causes[cause]!.where.service
