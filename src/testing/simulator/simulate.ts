import type { Tools } from '../../contracts/tools.ts'
import type { Instant } from '../../core/time.ts'
import { type App, createApp } from '../../runtime/app.ts'
import { loadedDice } from '../dice.ts'
import { type Account, createAccount } from './account.ts'
import { batchHandlerOf } from './batch-handlers.ts'
import { LEASE, readBook } from './book.ts'
import { type Chance, chanceOf } from './chance.ts'
import { handlerOf } from './handlers.ts'
import { checkEnd, haveLetters, isQuiet } from './laws.ts'
import { type Life, startLife } from './life.ts'
import { createMail } from './mail.ts'
import { checkReplays, giveUpHolding, openOffice, replayAll } from './operator.ts'
import type { Planned } from './plan.ts'
import type { Plant } from './plant.ts'
import { isTogether, isTransacting, type Scenario, scenarioOf } from './scenario.ts'
import { createScheduler, type Scheduler } from './scheduler.ts'
import { txHandlerOf } from './tx-handlers.ts'
import type { Violation } from './violation.ts'
import { createBeyond } from './world.ts'

export interface Line {
  readonly at: number
  readonly who: string
  readonly what: string
}

export interface Simulation {
  readonly seed: number
  readonly scenario: Scenario
  readonly violations: readonly Violation[]
  readonly lines: readonly Line[]
  readonly steps: number
  /** Of virtual time. */
  readonly took: number
}

/** How long things may go wrong, and how long after that all must have come to its end. */
const STORM = 7000
const PATIENCE = 120_000
const MOST_STEPS = 30_000
/** Longer than any handler that goes on when its time is over. */
const LATE = 1500

/** The whole runtime, several processes, one world, one seed. */
export const simulate = async (seed: number, plant: Plant = HEALTHY): Promise<Simulation> => {
  const chance = chanceOf(seed)
  const scenario = scenarioOf(chance.fork())
  const scheduler = createScheduler(chance.fork())
  const start = scheduler.now()
  const lines: Line[] = []
  const trace = (who: string, what: string): void =>
    void lines.push({ at: scheduler.now() - start, who, what })
  const account = createAccount(scheduler.now, trace)
  for (const expected of scenario.expectations) account.expect(expected)

  // thousands of abort reasons a second, each with a stack that nobody reads, would take a third of the time
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    await run({ scenario, scheduler, account, chance, plant, start, trace })
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }

  const took = scheduler.now() - start
  return { seed, scenario, violations: account.violations, lines, steps: scheduler.steps, took }
}

const HEALTHY: Plant = { name: 'healthy', what: 'nothing is wrong', breaks: [] }

interface Setting {
  readonly scenario: Scenario
  readonly scheduler: Scheduler
  readonly account: Account
  readonly chance: Chance
  readonly plant: Plant
  readonly start: Instant
  readonly trace: (who: string, what: string) => void
}

const run = async (setting: Setting): Promise<void> => {
  const { scenario, scheduler, account, chance, plant, start, trace } = setting
  let stormy = false
  let crashes = scenario.weather.crashes
  const weather = () => (stormy ? scenario.weather : undefined)
  const beyond = createBeyond({ scenario, scheduler, account, chance: chance.fork(), weather, plant })
  const { from, to } = scenario.outage
  const mail = createMail(scheduler.now, { from: start + from, to: start + to })
  const book = plant.book ? readBook(plant.book(scenario.yaml)) : scenario.book
  const alive: { readonly life: Life; readonly app: App; readonly tools: Tools; ready: boolean }[] = []

  const leave = (life: Life): void => {
    alive.splice(
      alive.findIndex((each) => each.life === life),
      1,
    )
  }

  const open = (name: string): Promise<void> => {
    const own = chance.fork()
    const life = startLife({
      name,
      scheduler,
      chance: own,
      weather,
      trace,
      stall: LEASE * 1.3,
      mayCrash: () => crashes-- > 0,
      excuse: account.excuse,
      excuseAll: account.excuseAll,
      stands: account.stands,
      died: account.died,
      cut: beyond.cut,
      onCrash: (dead) => {
        leave(dead)
        scheduler.after(chance.int(0, 300), () => beyond.cut(dead))
        scheduler.after(chance.int(10, 3000), () => void open(nextName(name)))
      },
    })
    const tools: Tools = {
      clock: life.clock,
      dice: loadedDice(own.int(1, 2 ** 31), scheduler.now),
      journal: (fact) => {
        if (!life.dead) account.told(life, fact)
      },
    }
    const app = createApp({ book, tools, ...beyond.connect(life) })
    for (const [service, types] of scenario.services) {
      const stage = { account, life, chance: own.fork(), mail }
      if (isTogether(service)) {
        const handler = batchHandlerOf(service, stage, scenario.batch)
        for (const type of types) app.service(service).onBatch(type, plant.batch?.(handler) ?? handler)
        continue
      }
      const theirs = scenario.tx === 'theirs'
      const handler = isTransacting(service) ? txHandlerOf(service, stage, theirs) : handlerOf(service, stage)
      for (const type of types) app.service(service).on(type, handler)
    }
    const entry = { life, app, tools, ready: false }
    alive.push(entry)
    trace(name, 'starts')
    return app.start().then(() => {
      entry.ready = true
    })
  }

  /** A deploy: it is asked to leave, and another takes its place. */
  const replace = async (): Promise<void> => {
    const entry = alive.find(({ ready }) => ready)
    if (!entry) return
    leave(entry.life)
    trace(entry.life.name, 'is asked to leave')
    void open(nextName(entry.life.name))
    account.excuseAll(entry.life)
    await entry.app
      .drain(chance.int(0, 500))
      .catch((error: Error) => account.broken('I7', `${entry.life.name} could not leave: ${error.message}`))
    trace(entry.life.name, 'has left')
    entry.life.dead = true
    beyond.cut(entry.life)
  }

  /** Whoever asked a process that dies is never answered: it looks now and then whether that one still lives. */
  const follow = (life: Life, work: Promise<unknown>, through: () => void, again: () => void): void => {
    let known = false
    const knowing = (next: () => void) => (): void => {
      known = true
      next()
    }
    work.then(knowing(through), knowing(again))
    const look = (): void => {
      if (known) return
      if (life.dead) again()
      else scheduler.after(500, look)
    }
    scheduler.after(500, look)
  }

  /** Whoever lives publishes; told that it failed, or not told at all, the producer does it again. */
  const publish = (planned: Planned): void => {
    if (account.violations.length > 0) return
    const entry = alive.find(({ ready }) => ready)
    const again = () => void scheduler.after(250, () => publish(planned))
    if (!entry) return void again()
    const accepted = (): void => {
      account.accepted(planned.event)
      unpublished--
    }
    follow(entry.life, entry.app.publishEvents([planned.event]), accepted, again)
  }

  let replayed = !scenario.replays
  const operate = (): void => {
    const entry = alive.find(({ ready }) => ready)
    const again = () => void scheduler.after(400, operate)
    if (!entry) return void again()
    trace(entry.life.name, 'opens the office')
    const through = (): void => {
      replayed = true
      trace(entry.life.name, 'has replayed all that died')
    }
    const { although, discards } = scenario
    const passes = plant.although ?? although
    const means = { account, although, passes, discards, kept: beyond.kept }
    follow(entry.life, replayAll(entry.app, entry.tools, means), through, again)
  }

  let starting = scenario.processes
  for (let n = 1; n <= scenario.processes; n++) void open(`p${n}`).then(() => starting--)
  await scheduler.run(() => starting === 0, start + 60_000)
  stormy = true
  const began = scheduler.now()
  let unpublished = 0
  for (const planned of scenario.planned) {
    for (const at of planned.again === undefined ? [planned.at] : [planned.at, planned.again]) {
      unpublished++
      scheduler.after(at, () => publish(planned))
    }
  }
  for (let n = 0; n < scenario.weather.deploys; n++)
    scheduler.after(chance.int(500, STORM), () => void replace())
  const hopeless = () => {
    if (scheduler.steps > MOST_STEPS && account.violations.length === 0)
      account.broken('I7', `something goes round without end: ${MOST_STEPS} steps were not enough`)
    return account.violations.length > 0
  }
  const quiet = () => hopeless() || (unpublished === 0 && isQuiet(account))
  await scheduler.run(
    scenario.weather.calm ? quiet : () => hopeless() || scheduler.now() - began > STORM,
    began + STORM,
  )
  stormy = false
  await scheduler.run(quiet, scheduler.now() + PATIENCE)
  if (!hopeless() && !replayed) {
    const again = scheduler.now()
    crashes = 1
    stormy = true
    operate()
    await scheduler.run(hopeless, again + STORM / 3)
    stormy = false
    // whoever had it open may have died: another hears the rest, and names what was marked and never sent
    const reopen = async (): Promise<void> => {
      const entry = alive.find(({ ready }) => ready)
      if (!entry) return void scheduler.after(400, reopen)
      const office = await openOffice(entry.app, entry.tools)
      for (let looks = 1; !settled(); looks++) {
        await entry.tools.clock.sleep(PATIENCE / 24)
        await giveUpHolding(office, account, beyond.kept())
        const ids = looks % 6 === 0 ? lost() : []
        // by now their time may be over; who marked them said that it was not, or did not mind
        if (ids.length > 0) await office.replay({ ids }, { although: ['on its way', 'expired'] })
      }
    }
    const held = () => account.lines.holding().length > 0
    const lost = () =>
      beyond.kept().flatMap(({ letter, state }) => (state === 'replaying' ? [letter.id] : []))
    void reopen()
    const told = () => lost().length === 0 && !held() && !beyond.operating()
    const settled = () => quiet() && replayed && told() && haveLetters(account, beyond.letters())
    await scheduler.run(() => hopeless() || settled(), scheduler.now() + PATIENCE)
  }
  // what comes late must change nothing
  if (!hopeless()) await scheduler.run(hopeless, scheduler.now() + LATE)
  if (!hopeless()) {
    if (unpublished > 0) account.broken('I7', `${unpublished} events could not be published`)
    if (!replayed) account.broken('I7', 'the office could not replay')
    checkReplays(account, beyond.kept())
    checkEnd(account, beyond.letters(), scenario.weather.calm)
    mail.check(account, scenario.guarded)
  }
  for (const { life } of alive) life.dead = true
}

const nextName = (name: string): string => {
  const [process, life = '1'] = name.split('.')
  return `${process}.${Number(life) + 1}`
}
