import type { Board, Entry } from '../contracts/board.ts'
import type { Tools } from '../contracts/tools.ts'
import { ReprieveError } from '../core/error.ts'
import { checkGiven, FUNCTION, text } from '../core/given.ts'
import { JOB_LEASE, type Job, jobAfter, jobEntry, lookAt, readJob } from '../core/job.ts'
import type { Json } from '../core/json.ts'
import type { Instant, Millis } from '../core/time.ts'
import { type Duration, millis } from './retry-duration.ts'

/** What a job is given. */
export interface JobContext {
  /** Aborts when the app drains, or when this process is no longer the one that runs it. */
  readonly signal: AbortSignal
}

export type JobFunction = (context: JobContext) => unknown

/** Jobs on a schedule, each run by one of the processes that share the board. */
export interface Schedule {
  every(period: Duration, name: string, run: JobFunction): void
  start(): void
  /** Cuts short what runs, and waits for it at most so long. */
  stop(within: Millis): Promise<void>
}

interface Planned {
  readonly name: string
  readonly period: Millis
  readonly run: JobFunction
}

/** A process that died with a job is missed after its lease; nobody looks much later than that. */
const LOOK = JOB_LEASE / 3
const SHORTEST: Millis = 1000
const KEPT: Millis = 24 * 60 * 60_000

export const createSchedule = (board: Board, { clock, dice, journal }: Tools): Schedule => {
  const process = dice.uuid()
  const planned = new Map<string, Planned>()
  const stopping = new AbortController()
  const running: Promise<void>[] = []
  let started = false

  const current = async (name: string): Promise<{ readonly entry?: Entry; readonly job?: Job }> => {
    const wanted = jobEntry(name)
    const entry = (await board.read(wanted)).find((each) => each.entry === wanted)
    const job = entry && readJob(entry.value)
    return { ...(entry && { entry }), ...(job && { job }) }
  }

  const post = ({ name, period }: Planned, job: Job, entry: Entry | undefined): Promise<boolean> =>
    board.post(jobEntry(name), { ...job } as Json, KEPT + 2 * period, entry?.version ?? 0)

  /** Looks once, and runs it where it is this process's turn; answers when to look again. */
  const look = async (plan: Planned): Promise<Instant> => {
    const { entry, job } = await current(plan.name)
    const now = clock.now()
    const next = lookAt(job, plan.period, process, now)
    if (next === job) return job.next > now ? job.next : now + LOOK
    if (!(await post(plan, next, entry))) return now
    if (next.held) await perform(plan, next)
    return clock.now()
  }

  const perform = async (plan: Planned, job: Job): Promise<void> => {
    const over = new AbortController()
    const lost = new AbortController()
    const keeping = keep(plan, over.signal, lost)
    const began = clock.now()
    const signal = AbortSignal.any([stopping.signal, lost.signal])
    let cut = false
    try {
      await plan.run({ signal })
      journal({ at: clock.now(), is: 'job', name: plan.name, took: clock.now() - began })
    } catch (error) {
      cut = signal.aborted
      if (!cut) told(`the job ${plan.name}`, error)
    }
    over.abort()
    await keeping
    // what was cut short is still due, for whoever comes next
    const left = cut ? { next: job.next } : jobAfter(job, plan.period, clock.now())
    const { entry, job: mine } = await current(plan.name)
    if (mine?.held?.by === process) await post(plan, left, entry)
  }

  /** Says again and again that it is being run here. */
  const keep = async (plan: Planned, over: AbortSignal, lost: AbortController): Promise<void> => {
    let until = clock.now() + JOB_LEASE
    for (await clock.sleep(LOOK, over); !over.aborted; await clock.sleep(LOOK, over)) {
      try {
        const { entry, job } = await current(plan.name)
        if (job?.held?.by !== process) return lost.abort(new Error('another process runs it now'))
        const held = { by: process, until: clock.now() + JOB_LEASE }
        if (await post(plan, { next: job.next, held }, entry)) until = held.until
      } catch {
        // the board is away: it is ours until the lease is over, and told elsewhere
      }
      if (clock.now() >= until) return lost.abort(new Error('the lease is over'))
    }
  }

  const told = (where: string, error: unknown): void => {
    const wrapped = error instanceof Error ? error : new Error(String(error))
    journal({ at: clock.now(), is: 'trouble', where, error: wrapped })
  }

  const go = async (plan: Planned): Promise<void> => {
    let quiet = true
    while (!stopping.signal.aborted) {
      let again = clock.now() + LOOK
      try {
        again = await look(plan)
        quiet = true
      } catch (error) {
        if (quiet) told(`the schedule of ${plan.name}`, error)
        quiet = false
      }
      await clock.sleep(Math.min(Math.max(again - clock.now(), SHORTEST), LOOK), stopping.signal)
    }
  }

  return {
    every: (written, name, run) => {
      checkGiven('every(…)', 'the name', name, text('cleanup'))
      checkGiven('every(…)', 'the job', run, FUNCTION)
      const period = millis(`every('${name}')`, written, 0)
      if (period < SHORTEST) {
        throw new ReprieveError(
          'bad_usage',
          `every('${written}', '${name}'): a job runs once a second at most`,
        )
      }
      if (planned.has(name)) {
        throw new ReprieveError('bad_usage', `two jobs are called '${name}'`, {
          fix: 'processes know a job by its name: give each its own',
        })
      }
      const plan = { name, period, run }
      planned.set(name, plan)
      if (started) running.push(go(plan))
    },
    start: () => {
      started = true
      for (const plan of planned.values()) running.push(go(plan))
    },
    stop: async (within) => {
      stopping.abort(new Error('the app is draining'))
      const patience = new AbortController()
      await Promise.race([Promise.all(running.splice(0)), clock.sleep(within, patience.signal)])
      patience.abort()
    },
  }
}
