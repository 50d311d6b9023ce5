import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../adapters/system/clock.ts'
import type { Journal } from '../../contracts/journal.ts'
import type { Millis } from '../../core/time.ts'
import { reprieve } from '../../reprieve.ts'
import { calm, strong } from '../print/paint.ts'
import { say } from '../print/say.ts'
import { type Ending, play, type Stage, sentence } from './play.ts'
import { DEMO_RULES } from './rules.ts'
import { CROWD, createScreen, jsonScreen } from './screen.ts'
import { registerService, SERVICE } from './service.ts'
import { type MailServer, openMailServer } from './smtp-server.ts'
import { badDay, tasks } from './story.ts'
import { createCounter } from './tally.ts'

export interface Performance {
  readonly folder: string
  readonly db: string
  readonly events: number
  readonly length: Millis
  readonly json: boolean
  readonly leave: AbortSignal
}

/** Sets the stage (rule book, mail server, app), plays the story, and puts everything away again. */
export const perform = async ({ folder, db, events, length, json, leave }: Performance): Promise<Ending> => {
  const clock = systemClock
  const rules = join(folder, 'reprieve.yaml')
  await writeFile(rules, DEMO_RULES)
  const all = tasks(events)
  const day = badDay(all, clock.now)
  const server = await openMailServer(day)
  const counter = createCounter()
  if (!json) say(playbill(rules, db, server))
  const screen = json ? jsonScreen : createScreen(clock.now(), clock.now, events > CROWD)
  const journal: Journal = (fact) => {
    counter.read(fact)
    screen.read(fact)
  }
  const over = new AbortController()
  try {
    await using app = await reprieve({ rules, transport: `sqlite:${db}`, journal })
    registerService(app, { port: server.port, fixed: () => day.repaired, began: counter.begin })
    await app.start()
    const stage: Stage = { app, server, day, counter, screen, clock, leave }
    if (events > CROWD) void report(stage, over.signal)
    return await play(stage, all, length)
  } finally {
    over.abort()
    await server.close()
  }
}

/** Where single events are not shown, a line now and then tells where they are. */
const report = async ({ app, server, counter, screen, clock }: Stage, over: AbortSignal): Promise<void> => {
  for (;;) {
    await clock.sleep(1000, over)
    if (over.aborted) return
    screen.note('so far', sentence(await counter.take(app.office, server)))
  }
}

const playbill = (rules: string, db: string, { port }: MailServer): string =>
  [
    `${strong(SERVICE)} sends a mail for every task, and today the mail server has a bad day.`,
    '',
    calm(`  rules     ${rules}`),
    calm(`  database  ${db}`),
    calm(`  mail      127.0.0.1:${port}`),
    '',
  ].join('\n')
