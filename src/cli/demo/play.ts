import type { Clock } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'
import type { Reprieve } from '../../reprieve.ts'
import { span } from '../print/time.ts'
import type { Screen } from './screen.ts'
import { SERVICE } from './service.ts'
import type { MailServer } from './smtp-server.ts'
import type { Day, Task } from './story.ts'
import { addsUp, type Counter, type Tally } from './tally.ts'

export interface Stage {
  readonly app: Reprieve
  readonly server: MailServer
  readonly day: Day
  readonly counter: Counter
  readonly screen: Screen
  readonly clock: Clock
  /** Aborts when the audience leaves. */
  readonly leave: AbortSignal
}

export interface Ending {
  readonly before: Tally
  readonly after: Tally
  /** Letters that were replayed. */
  readonly replayed: number
  /** Mails that the server took more than once. */
  readonly doubles: number
}

/** Each part of the story gets this much more before it is called stuck: breakers and a busy machine take their time. */
const PATIENCE = 40_000
const LONGEST_OUTAGE = 2500
const LOOK = 25
const LOOK_AGAIN = 250

/** Outage, work, quiet, repair, replay, quiet. */
export const play = async (stage: Stage, tasks: readonly Task[], length: Millis): Promise<Ending> => {
  const { app, day, counter, screen, clock, leave } = stage
  const until = clock.now() + length
  const outage = Math.min(LONGEST_OUTAGE, length * 0.15)
  const beat = Math.min(1000, length * 0.05)

  day.outage(outage)
  screen.note('mail server', `is down for ${span(outage)}`)
  const back = clock.sleep(outage, leave).then(() => {
    if (!leave.aborted) screen.note('mail server', 'is back, though not all is well with it')
  })
  await publishOver(length * 0.45, stage, tasks)
  await back
  await eventually(stage, () => counter.quiet(), until)
  const before = await settled(stage)
  screen.note(counter.quiet() ? 'quiet' : 'so far', sentence(before))
  await clock.sleep(beat, leave)

  day.repair()
  screen.note('repair', 'mailboxes opened; a version that reads the old form deployed')
  await clock.sleep(beat, leave)
  const replayed = await replayAll(stage, until)
  screen.note('replay', `${replayed} dead letters go back to ${SERVICE}`)
  const open = () => app.office.count({ states: ['open', 'replaying'] })
  await eventually(stage, async () => counter.quiet() && (await open()) === 0, until)
  const after = await settled(stage)
  screen.note(counter.quiet() ? 'quiet' : 'so far', sentence(after))
  const doubles = [...stage.server.taken.values()].filter((times) => times > 1).length
  return { before, after, replayed, doubles }
}

/** While the mail server counts as unhealthy its letters stay: they are sent when it is well again. */
const replayAll = async ({ app, clock, leave }: Stage, until: number): Promise<number> => {
  const end = Math.max(until, clock.now()) + PATIENCE
  for (let replayed = 0; ; ) {
    replayed += (await app.office.replay({ service: SERVICE })).sent.length
    const left = await app.office.count({ states: ['open'] })
    if (left === 0 || leave.aborted || clock.now() >= end) return replayed
    await clock.sleep(LOOK_AGAIN, leave)
  }
}

const publishOver = async (
  length: Millis,
  { app, counter, screen, clock, leave }: Stage,
  tasks: readonly Task[],
): Promise<void> => {
  const began = clock.now()
  for (let next = 0; next < tasks.length && !leave.aborted; ) {
    const due = Math.ceil(((clock.now() - began + 1) / length) * tasks.length)
    const batch = tasks.slice(next, Math.max(due, next))
    next += batch.length
    await Promise.all(
      batch.map(async (task) => {
        const id = `${task.name}-${began.toString(36)}`
        screen.know(id, task)
        counter.accept(await app.publish(task.type, task.data, { id, source: 'todo', subject: task.name }))
      }),
    )
    await clock.sleep(Math.min(LOOK, length / tasks.length), leave)
  }
}

const eventually = async (
  { clock, leave }: Stage,
  isSo: () => boolean | Promise<boolean>,
  until: number,
): Promise<void> => {
  const end = Math.max(until, clock.now()) + PATIENCE
  while (!leave.aborted && !(await isSo()) && clock.now() < end) await clock.sleep(LOOK, leave)
}

/** Those who count don't count at the same moment: a sum that stays wrong is wrong. */
const settled = async ({ app, server, counter, clock, leave }: Stage): Promise<Tally> => {
  for (let look = 0; ; look++) {
    const tally = await counter.take(app.office, server)
    if (addsUp(tally) || look > 100 || leave.aborted) return tally
    await clock.sleep(LOOK, leave)
  }
}

/** Where all of them are. */
export const sentence = ({ accepted, done, waiting, dead, inFlight }: Tally): string =>
  `${accepted} accepted = ${done} done + ${waiting} waiting + ${dead} dead + ${inFlight} in flight`
