import type { Settled } from '../../contracts/transport.ts'
import type { Effect, Marked, Outgoing, Sql, SqlStatement, SqlValue } from '../../contracts/tx.ts'
import { ReprieveError } from '../../core/error.ts'
import type { File } from './file.ts'
import { isOfTheFile, resultCode } from './trouble.ts'

/**
 * Runs what a user's effect is part of so that all of it stays or nothing, whatever else shares the commit. An error is
 * answered, not thrown, for it is nobody else's; only where the file itself is at fault all of the turn is undone.
 */
export const underSavepoint = (file: File, work: (run: Running) => Settled): Settled => {
  file.sql('SAVEPOINT reprieve_effect').run()
  const trouble: unknown[] = []
  const undo = (): void => {
    file.sql('ROLLBACK TO reprieve_effect').run()
    file.sql('RELEASE reprieve_effect').run()
  }
  try {
    const settled = work((effect) => runEffect(file, effect, trouble))
    if (trouble.length > 0) throw trouble[0]
    if (settled === 'done') file.sql('RELEASE reprieve_effect').run()
    else undo()
    return settled
  } catch (error) {
    // where its own words ended the transaction, as ON CONFLICT ROLLBACK does, there is nothing left to go back to
    if (trouble.length > 0 || isOfTheFile(error) || !file.isWithin()) throw trouble[0] ?? error
    undo()
    return error instanceof Error ? error : new Error(String(error))
  }
}

export type Running = (effect: Effect) => readonly Outgoing[]

const runEffect = (file: File, effect: Effect, trouble: unknown[]): readonly Outgoing[] => {
  let over = false
  const guarded = <T>(use: () => T): T => {
    if (over) throw afterEnd()
    try {
      return file.fenced(use)
    } catch (error) {
      if (isOfTheFile(error)) trouble.push(error)
      throw resultCode(error) === AUTH ? notAllowed(error) : error
    }
  }
  const database: Sql = {
    exec: (text) => guarded(() => file.exec(text)),
    prepare: (text) => {
      guarded(() => file.theirs(text)) // a mistake in it is met here
      const use = <T>(with_: (statement: SqlStatement) => T): T =>
        guarded(() => with_(file.theirs(text) as SqlStatement))
      return {
        run: (...values: readonly SqlValue[]) => use((statement) => statement.run(...values)),
        get: (...values: readonly SqlValue[]) => use((statement) => statement.get(...values)),
        all: (...values: readonly SqlValue[]) => use((statement) => statement.all(...values)),
      }
    },
  }
  try {
    return effect.run(database)
  } finally {
    over = true
  }
}

/** SQLite's word for what an authorizer denies. */
const AUTH = 23

export const checkMarked = (marked: Marked): void => {
  if (marked === 'done') throw new ReprieveError('already_done', 'the transaction was committed before')
  if (marked === 'conflict')
    throw new ReprieveError('conflict', 'an event with this id and another payload was seen before')
}

const afterEnd = (): ReprieveError =>
  new ReprieveError('bad_usage', 'the database of ctx.tx was used after its transaction had ended', {
    fix: 'do all of it inside the function, without await',
  })

const notAllowed = (cause: unknown): ReprieveError =>
  new ReprieveError(
    'bad_usage',
    'inside ctx.tx no statement may begin or end a transaction, attach a file, set a pragma, or write to reprieve_ tables',
    { fix: 'leave BEGIN, COMMIT and SAVEPOINT to ctx.tx; set pragmas on a connection of your own', cause },
  )
