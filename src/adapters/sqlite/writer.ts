import type { Tools } from '../../contracts/tools.ts'
import { ReprieveError } from '../../core/error.ts'
import type { File } from './file.ts'
import { patiently } from './patience.ts'
import { isOfTheFile, needsReopening, troubleWith } from './trouble.ts'

/**
 * The one writer of a file in this process. Whatever is asked for in one turn of the event loop shares one
 * transaction and one commit, which is what a commit that waits for the disk costs most.
 *
 * A job must bear being run again: one that fails unforeseen takes the transaction down, and then each job
 * of that turn is done by itself. So it changes nothing outside the file but what it can set right when
 * it runs again, and a mistake that is the caller's it throws as ReprieveError before it writes anything.
 */
export interface Writer {
  write<T>(job: () => T, rows?: number): Promise<T>
  /** Runs after the others of its turn. Where it would be alone it is done only if a look says it is wanted. */
  writeIf<T>(wanted: () => boolean, job: () => T): Promise<T | undefined>
  /** Outside any transaction, between turns. */
  read<T>(look: () => T): Promise<T>
  counts(): Counts
  /** Lets what is queued finish. */
  close(): Promise<void>
}

export interface Counts {
  readonly commits: number
  readonly jobs: number
  /** Rows that those jobs inserted, changed or deleted. */
  readonly rows: number
}

interface Job {
  readonly run: () => unknown
  readonly wanted?: () => boolean
  readonly rows: number
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
  /** Its turn failed because of one of its jobs: each is done again by itself. */
  apart?: boolean
}

/** Enough to make the commit cheap for each, few enough to give the event loop back within milliseconds. */
const MOST_ROWS = 1000

export interface Hooks {
  /** Within a commit that is made anyway and has written so many rows: forgetting, a little of it. */
  readonly tidy: (written: number) => void
  /** What was remembered of the file may never have been: the transaction was undone. */
  readonly undone: () => void
}

export const writerOf = (file: File, tools: Tools, hooks: Hooks): Writer => {
  const counts = { commits: 0, jobs: 0, rows: 0 }
  let queue: Job[] = []
  let working: Promise<void> | undefined
  let closed = false

  const add = <T>(run: () => T, rows: number, wanted?: () => boolean): Promise<T> => {
    if (closed) return Promise.reject(isClosed())
    return new Promise((resolve, reject) => {
      queue.push({ run, rows, resolve, reject, ...(wanted && { wanted }) })
      working ??= work()
    })
  }

  const isClosed = () => new ReprieveError('closed', `sqlite file '${file.path}' is closed`)

  const work = async (): Promise<void> => {
    await tools.clock.sleep(0)
    while (queue.length > 0) {
      try {
        await patiently(tools, turn)
      } catch (error) {
        refuse(queue.splice(0), error)
      }
      await tools.clock.sleep(0)
    }
    working = undefined
  }

  const turn = (): void => {
    answerUnwanted()
    if (queue.length === 0) return
    file.begin()
    const jobs = take()
    const values: unknown[] = []
    const refused = new Map<Job, ReprieveError>()
    try {
      const before = changes()
      for (const job of jobs) values.push(ran(job, refused))
      const rows = changes() - before
      tidy(rows)
      file.commit()
      counts.commits++
      counts.jobs += jobs.length
      counts.rows += rows
    } catch (error) {
      undo(jobs, error)
      return
    }
    for (const [index, job] of jobs.entries()) {
      const error = refused.get(job)
      if (error) job.reject(error)
      else job.resolve(values[index] as never)
    }
  }

  const changes = (): number => file.sql('SELECT total_changes() AS n').get()!.n as number

  const ran = (job: Job, refused: Map<Job, ReprieveError>): unknown => {
    try {
      return job.run()
    } catch (error) {
      if (!(error instanceof ReprieveError)) throw error
      refused.set(job, error)
      return undefined
    }
  }

  const undo = (jobs: readonly Job[], error: unknown): void => {
    try {
      file.rollback()
    } catch {
      file.drop() // past saving, as the first error says already
    }
    hooks.undone()
    if (jobs.length === 1 || isOfTheFile(error)) {
      refuse(jobs, error)
    } else {
      for (const job of jobs) job.apart = true
      queue = [...jobs, ...queue]
    }
  }

  /** Nobody asked for it, so nobody's work may fail by it. */
  const tidy = (rows: number): void => {
    try {
      hooks.tidy(rows)
    } catch (error) {
      if (isOfTheFile(error)) throw error
      report(error)
    }
  }

  const report = (error: unknown): Error => {
    const trouble = troubleWith(file.path, error)
    tools.journal({ at: tools.clock.now(), is: 'trouble', where: `sqlite:${file.path}`, error: trouble })
    return trouble
  }

  const refuse = (jobs: readonly Job[], error: unknown): void => {
    if (needsReopening(error)) file.drop()
    const trouble = report(error)
    for (const job of jobs) job.reject(trouble)
  }

  /** A turn with nothing but looks in it needs no transaction where none of them sees anything. */
  const answerUnwanted = (): void => {
    if (!queue.every((job) => job.wanted)) return
    const kept: Job[] = []
    for (const job of queue) {
      if (looksWanted(job)) kept.push(job)
      else job.resolve(undefined as never)
    }
    queue = kept
  }

  /** What the next commit holds, looks last, so that they see what the others wrote. */
  const take = (): readonly Job[] => {
    if (queue[0]?.apart) return [queue.shift()!]
    const writes = queue.filter((job) => !job.wanted)
    const ordered = writes.length < queue.length ? [...writes, ...queue.filter((job) => job.wanted)] : writes
    let end = 0
    for (let rows = 0; end < ordered.length && (rows < MOST_ROWS || end === 0); end++)
      rows += ordered[end]!.rows
    queue = ordered.slice(end)
    return end < ordered.length ? ordered.slice(0, end) : ordered
  }

  return {
    write: (job, rows = 1) => add(job, rows),
    writeIf: (wanted, job) => add(job, 0, wanted),
    read: async (look) => {
      if (closed) throw isClosed()
      try {
        return await patiently(tools, look)
      } catch (error) {
        if (needsReopening(error)) file.drop()
        throw troubleWith(file.path, error)
      }
    },
    counts: () => ({ ...counts }),
    close: async () => {
      closed = true
      await working
    },
  }
}

const looksWanted = (job: Job): boolean => {
  try {
    return job.wanted!()
  } catch {
    return true // let the transaction meet the trouble, with all its patience
  }
}
