import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fateOf, limitOf } from './fate.ts'

/** What happened, told by the workers' own files and by the store's table, read with a plain SQLite client. */
export interface Count {
  /** Ids that are done or dead. */
  readonly accounted: ReadonlySet<string>
  readonly done: number
  readonly dead: number
  /** I1: neither done nor dead. */
  readonly missing: readonly string[]
  /** I1: done though it must die, dead though it must be done, or both. */
  readonly wrong: readonly string[]
  /** I3: effects beyond the first. */
  readonly doubled: number
  /** Of those the ones of events whose every settlement was answered: only the death of a worker excuses them. */
  readonly unexplained: number
  /** I5: ids with an attempt beyond the limit. */
  readonly beyond: readonly string[]
  readonly attempts: number
}

const linesOf = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => name.startsWith('record-'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean))

const lettersOf = (folder: string): readonly string[] => {
  if (!existsSync(join(folder, 'store.db'))) return []
  const database = new DatabaseSync(join(folder, 'store.db'), { readOnly: true, timeout: 20_000 })
  try {
    return database
      .prepare(
        "SELECT json_extract(CAST(envelope AS TEXT), '$.originalEventId') AS id FROM reprieve_envelope",
      )
      .all()
      .map(({ id }) => String(id))
  } finally {
    database.close()
  }
}

/** Ids end in their event's number. */
const numberOf = (id: string): number => Number(id.slice(id.lastIndexOf('-') + 1))

/** `ids` in the order of their numbers; `letters`: the events that letters are about, where they are not asked of the store. */
export const count = (
  folder: string,
  ids: readonly string[],
  letters: readonly string[] = lettersOf(folder),
): Count => {
  const done = new Set<string>()
  const twice: string[] = []
  const beyond = new Set<string>()
  const unanswered = new Set<string>()
  let attempts = 0
  for (const line of linesOf(folder)) {
    const [what, id, attempt] = line.split(' ') as [string, string, string]
    if (what === 'effect' && done.has(id)) twice.push(id)
    else if (what === 'effect') done.add(id)
    else if (what === 'unanswered') unanswered.add(id)
    else {
      attempts++
      if (Number(attempt) > limitOf(numberOf(id))) beyond.add(id)
    }
  }
  const dead = new Set(letters)
  const wrong = ids.filter((id, n) => (fateOf(n) === 'done' ? dead.has(id) : done.has(id)))
  return {
    accounted: new Set([...done, ...dead]),
    done: done.size,
    dead: dead.size,
    missing: ids.filter((id) => !done.has(id) && !dead.has(id)),
    wrong,
    doubled: twice.length,
    unexplained: twice.filter((id) => !unanswered.has(id)).length,
    beyond: [...beyond],
    attempts,
  }
}
