import { Permanent, Transient } from '../../core/errors.ts'
import type { BatchContext, BatchEntry, Batched, BatchReply } from '../../runtime/batch-handler.ts'
import { answerOf, dead, later } from '../../runtime/handler.ts'
import type { BatchChoices } from './book.ts'
import { TIMEOUT, URGENT_SIZE } from './book.ts'
import type { Run } from './fate.ts'
import { fails, mended, type Stage } from './handlers.ts'
import type { Does } from './plan.ts'
import type { Broken } from './violation.ts'

interface Job {
  readonly event: Batched<{ readonly does: Does }>
  readonly run: Run
  readonly does: Does
}

/** A batch handler that does what its events say, all of them or one by one, with the model looking on. */
export const batchHandlerOf = (service: string, stage: Stage, choices: BatchChoices) => {
  const { account, life } = stage
  return (events: readonly Job['event'][], ctx: BatchContext): BatchReply | Promise<BatchReply> => {
    checkBatch(events, ctx.batcher, choices, account.broken)
    const jobs = events.map((event): Job => {
      const run = account.began(life, service, event, event.trail)
      return { event, run, does: mended(event.data.does, run, event.trail) }
    })
    if (jobs.every(({ does }) => does === 'at once')) {
      for (const { event, run } of jobs) {
        account.effect(run, event.idempotencyKey)
        account.ended(run, 'done', false)
      }
      return undefined
    }
    return act(jobs, ctx, stage).then(
      (entries) => {
        for (const [i, { run }] of jobs.entries()) account.ended(run, howOf(entries[i]), ctx.signal.aborted)
        return stage.chance.happens(0.3) ? settled(entries) : entries
      },
      (error) => {
        // whose fault it was nobody can tell: each is tried by itself, and this run was none
        const how = error instanceof Spoiled && jobs.length > 1 ? 'spoiled' : 'failed'
        for (const { run } of jobs) account.ended(run, how, ctx.signal.aborted)
        throw error
      },
    )
  }
}

/** What the rule book says of those that are handled together. */
const checkBatch = (
  events: readonly Job['event'][],
  batcher: string | undefined,
  { size, by, ordered }: BatchChoices,
  broken: Broken,
): void => {
  const name = `the batch of ${events.map(({ id }) => id).join(', ')}`
  const isUrgent = ({ extensions }: Job['event']): boolean => extensions.priority === 'high'
  const most = batcher === undefined ? 1 : batcher === 'urgent' ? URGENT_SIZE : size
  if (events.length > most) broken('contract', `${name} is larger than ${most}`)
  if (batcher !== undefined && events.some((event) => isUrgent(event) !== (batcher === 'urgent')))
    broken('contract', `${name} was gathered by ${batcher}, and not all of it belongs there`)
  if (by === 'source' && batcher === 'calm' && new Set(events.map(({ source }) => source)).size > 1)
    broken('contract', `${name} is of several sources`)
  const keys = events.map(({ extensions }) => extensions.orderkey)
  if (ordered && new Set(keys).size < keys.length) broken('contract', `${name} has two of one order key`)
}

class Spoiled extends TypeError {}

/** First what one event does to all of its batch, then what becomes of each. */
const act = async (
  jobs: readonly Job[],
  { signal }: BatchContext,
  stage: Stage,
): Promise<readonly BatchEntry[]> => {
  const { account, life, chance } = stage
  const { clock } = life
  const anyIs = (asked: Does): boolean => jobs.some(({ does }) => does === asked)
  const anyIsNew = (asked: Does): boolean =>
    jobs.some(({ does, event }) => does === asked && event.attempt === 1)
  await clock.sleep(chance.int(0, 30))
  const killer = jobs.find(({ does }) => does === 'kills')
  if (killer) {
    account.kills(killer.run)
    life.crash(`of ${killer.event.id}`)
    await clock.sleep(1)
  }
  if (anyIsNew('hangs')) {
    await clock.sleep(10 * TIMEOUT, signal)
    throw signal.reason
  }
  if (anyIsNew('deaf')) await clock.sleep(2 * TIMEOUT)
  else if (anyIs('slow')) await clock.sleep(TIMEOUT - 50)
  if (anyIsNew('drags')) throw new Transient('all of them, for a while')
  if (anyIs('spoils')) throw new Spoiled('one of them, and nobody knows which')
  const entries: BatchEntry[] = []
  for (const job of jobs) entries.push(await entryOf(job, stage))
  return entries
}

const entryOf = async ({ event, run, does }: Job, stage: Stage): Promise<BatchEntry> => {
  const { account, life, chance } = stage
  switch (does) {
    case 'flaky':
      if (fails(run, event.attempt)) return new Transient('not yet')
      break
    case 'permanent':
      return new Permanent('never')
    case 'unknown':
      return new TypeError('nobody knows why')
    case 'put off':
      if (run.fate.keys.size === 0 && chance.happens(0.7)) return later(chance.int(10, 1500))
      break
    case 'refused':
      return dead('not wanted')
  }
  return life
    .gate('effect', [run.fate], () => account.effect(run, event.idempotencyKey))
    .catch((error: Error) => error)
}

const howOf = (entry: BatchEntry): 'done' | 'answered' | 'failed' =>
  entry instanceof Error ? 'failed' : answerOf(entry) ? 'answered' : 'done'

/** The same, as `Promise.allSettled` would tell it. */
const settled = (entries: readonly BatchEntry[]): readonly BatchEntry[] =>
  entries.map((entry) =>
    entry instanceof Error ? { status: 'rejected', reason: entry } : { status: 'fulfilled', value: entry },
  )
