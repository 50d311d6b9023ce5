import type { Finish, Ledger } from '../contracts/ledger.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Address, Delivery, Inlet, Settled, Settlement, Transport } from '../contracts/transport.ts'
import { ReprieveError } from '../core/error.ts'
import { type Ending, endingOf, type Held } from '../core/ledger.ts'
import type { Parcel } from '../core/parcel.ts'
import type { Instant } from '../core/time.ts'
import { about } from './about.ts'

/** What is to be done with a delivery: a settlement, or a move to the companion. `held` is the claim it ends. */
export type Step = { readonly held?: Held } & (
  | Settlement
  | { readonly do: 'companion'; readonly delivery: Delivery; readonly parcel: Parcel }
)

/**
 * The only room that acts. Steps are settled in groups: whatever gathered while the last group was on its way. Beside a
 * broker an effect that happened is remembered before its ack stands in line, and acks don't wait for the copies of others:
 * if the process leaves or dies before it is remembered, it happens again.
 */
export interface Settler {
  /** Answers when settled: 'lost' where the delivery was no longer ours, an Error where it would not go. */
  settle(step: Step, answer: (settled: Settled) => void): void
  /** What gathered, and needs no new home, leaves now. Else it leaves with the next turn of the event loop. */
  leave(): void
  idle(): Promise<void>
}

export interface SettlerOptions {
  readonly address: Address
  readonly inlet: Inlet
  /** Absent where the transport ends claims itself. */
  readonly ledger: Ledger | undefined
  readonly companion: Transport | undefined
  readonly tools: Tools
  /** Aborts when the service stops: until then a ledger that is down is waited for. */
  readonly stop?: AbortSignal
  /** Aborts when it can wait no longer: what would not go is not tried again, and comes back by itself. */
  readonly abandon?: AbortSignal
}

interface Line {
  /** So many groups may be on their way at once. */
  readonly most: number
  readonly settle: (group: readonly Entry[]) => Promise<void>
  gathered: Entry[]
  working: number
  /** There while a group is about to leave: what comes until then goes with it. */
  leave: (() => void) | undefined
}

const lineOf = (most: number, settle: Line['settle']): Line => ({
  ...{ most, settle, gathered: [], working: 0 },
  leave: undefined,
})

interface Entry {
  readonly step: Step
  readonly answer: (settled: Settled) => void
  tries: number
  /** The ledger knows that its effect has happened. */
  remembered: boolean
  /** Why its own step was given up; handing it back is no success of that step. */
  readonly gaveUp?: Error
}

/** Groups of copies on their way: while the broker writes down one, the next is with it already. */
const AT_ONCE = 2
const TRIES = 5
const PAUSE = 200
const LONGEST_PAUSE = 5000

export const createSettler = ({
  address,
  inlet,
  ledger,
  companion,
  tools,
  stop,
  abandon,
}: SettlerOptions): Settler => {
  const { clock, journal } = tools
  let unsettled = 0
  const waiters: (() => void)[] = []

  const gather = (entry: Entry): void => {
    const line = lineFor(entry)
    line.gathered.push(entry)
    if (isFree(line)) void work(line, departure(line))
  }

  const lineFor = ({ step, remembered }: Entry): Line => {
    if (ledger && step.do === 'ack' && step.held && !remembered) return effects
    return needsHome(step) ? moving : plain
  }

  const isFree = (line: Line): boolean => line.working < line.most && !line.leave

  const departure = (line: Line): Promise<void> =>
    new Promise((resolve) => {
      line.leave = resolve
      void clock.sleep(0).then(resolve)
    })

  const work = async (line: Line, begins?: Promise<void>): Promise<void> => {
    line.working++
    if (begins) await begins
    line.leave = undefined
    while (line.gathered.length > 0) {
      const group = line.gathered
      line.gathered = []
      await line.settle(group)
    }
    line.working--
  }

  /** What is remembered stands in line for its ack. */
  const rememberAll = async (group: readonly Entry[]): Promise<void> => {
    try {
      await remember(group.map(({ step }) => ({ held: step.held!, as: 'done' })))
    } catch (error) {
      return concludeAll(
        group,
        group.map(() => asError(error)),
      )
    }
    for (const entry of group) {
      entry.remembered = true
      lineFor(entry).gathered.push(entry)
    }
    for (const line of [plain, moving]) if (line.gathered.length > 0 && isFree(line)) void work(line)
  }

  const settleAll = async (group: readonly Entry[]): Promise<void> =>
    concludeAll(group, await settleGroup(group.map(({ step }) => step)))

  const concludeAll = async (group: readonly Entry[], answers: readonly Settled[]): Promise<void> => {
    if (abandon?.aborted) await free(group.filter((_, i) => answers[i] instanceof Error))
    for (let i = 0; i < group.length; i++) conclude(group[i]!, answers[i]!)
  }

  /**
   * What would not go is tried again while others pass; in the end it is handed back, so that it has a home. Not
   * while the broker is down: what was decided would only run again, maybe beside a copy that did arrive. What the
   * broker will never carry, or would not take however often it was tried, finds its home with the companion: handed
   * back it would be run again, and refused again, for ever.
   */
  const conclude = (entry: Entry, settled: Settled): void => {
    if (!(settled instanceof Error) || entry.tries >= TRIES || abandon?.aborted) {
      entry.answer(entry.gaveUp && settled === 'done' ? entry.gaveUp : settled)
      if (--unsettled === 0) for (const wake of waiters.splice(0)) wake()
      return
    }
    const waits = isDown(settled) && stop && !stop.aborted && !entry.gaveUp
    const retryIn = Math.min(PAUSE * 2 ** entry.tries, LONGEST_PAUSE)
    if (!waits || entry.tries < TRIES - 1) entry.tries++
    const { delivery, held } = entry.step
    journal({
      at: clock.now(),
      is: 'trouble',
      where: `settling for ${address.service}`,
      error: settled,
      retryIn,
      about: about(address.service, address.topic, delivery.parcel.event),
    })
    const inVain = entry.tries >= TRIES && !isDown(settled)
    const aside = companion && (inVain || isRefused(settled)) && asideOf(entry.step, clock.now())
    const next: Entry = aside
      ? {
          ...entry,
          tries: inVain ? 0 : entry.tries,
          step: { ...aside, ...(held && { held }) },
          ...(entry.step.do === 'bury' && { gaveUp: settled }),
        }
      : entry.tries < TRIES
        ? entry
        : { ...entry, step: { do: 'give back', delivery, ...(held && { held }) }, gaveUp: settled }
    void clock.sleep(retryIn, waits ? stop : undefined).then(() => gather(next))
  }

  /** What nobody will try again: its claim must not look like a crash to whoever is next. */
  const free = async (group: readonly Entry[]): Promise<void> => {
    const ends = group.flatMap(({ step: { held }, remembered }): Finish[] =>
      held && !remembered ? [{ held, as: 'free' }] : [],
    )
    if (ends.length === 0) return
    await ledger?.finish(ends).catch(() => {}) // it runs out by itself; nobody waits for a ledger that is down
  }

  const settleGroup = async (steps: readonly Step[]): Promise<readonly Settled[]> => {
    const refused = await moveToCompanion(steps)
    if (!refused) return settleHere(steps)
    // whatever is wrong with the companion, the others have nothing to do with it
    const others = steps.filter(({ do: what }) => what !== 'companion')
    const answers = others.length > 0 ? await settleHere(others) : []
    let next = 0
    return steps.map(({ do: what }) => (what === 'companion' ? refused : answers[next++]!))
  }

  const settleHere = async (steps: readonly Step[]): Promise<readonly Settled[]> => {
    try {
      const settled = await inlet.settle(steps.map(asSettlement))
      // what the companion has was settled: that its original comes again is known to the ledger
      const answers = settled.map((each, i) =>
        each === 'lost' && steps[i]!.do === 'companion' ? 'done' : each,
      )
      // of an effect the ledger knows already; the other endings are remembered only now that the new home is there
      await finish(steps, (step, i) => {
        if (step.do === 'ack' || answers[i] instanceof Error) return undefined
        return answers[i] === 'lost' ? 'free' : endOf(step)
      })
      return answers
    } catch (error) {
      return steps.map(() => asError(error))
    }
  }

  /** Answers with why they would not go, if they would not. */
  const moveToCompanion = async (steps: readonly Step[]): Promise<Error | undefined> => {
    const parcels: Parcel[] = []
    for (const step of steps) if (step.do === 'companion') parcels.push(step.parcel)
    if (parcels.length === 0) return undefined
    if (!companion) return new ReprieveError('bad_usage', 'there is no companion to move to')
    try {
      await companion.forward(address, parcels)
      return undefined
    } catch (error) {
      return asError(error)
    }
  }

  /** Ends those claims of which the answer says how. */
  const finish = async (
    steps: readonly Step[],
    endsAs: (step: Step, i: number) => Ending | undefined,
  ): Promise<void> => {
    const ends: Finish[] = []
    for (let i = 0; i < steps.length; i++) {
      const { held } = steps[i]!
      const as = held && endsAs(steps[i]!, i)
      if (as) ends.push({ held: held!, as })
    }
    if (ends.length > 0) await remember(ends)
  }

  /** What happened must not happen again because nobody could be told: handing it back would let it. */
  const remember = async (ends: readonly Finish[]): Promise<void> => {
    for (let retryIn = PAUSE; ; retryIn = Math.min(retryIn * 2, LONGEST_PAUSE)) {
      try {
        await ledger?.finish(ends)
        return
      } catch (error) {
        if (!stop || stop.aborted) throw error
        journal({ at: clock.now(), is: 'trouble', where: 'the ledger', error: asError(error), retryIn })
        await clock.sleep(retryIn, stop)
      }
    }
  }

  const effects = lineOf(1, rememberAll)
  const plain = lineOf(1, settleAll)
  // in one database all of it is one commit
  const moving = ledger ? lineOf(AT_ONCE, settleAll) : plain

  return {
    settle: (step, answer) => {
      unsettled++
      gather({ step, answer, tries: 0, remembered: false })
    },
    leave: () => {
      effects.leave?.()
      plain.leave?.()
    },
    idle: () => (unsettled === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
  }
}

const needsHome = (step: Step): boolean =>
  step.do === 'ack' ? step.receipt !== undefined : step.do !== 'give back'

/** After the parcel has moved to the companion, the original is only acknowledged. */
const asSettlement = (step: Step): Settlement =>
  step.do === 'companion' ? { do: 'ack', delivery: step.delivery } : step

const endOf = (step: Step) =>
  step.do === 'companion'
    ? endingOf({ do: 'later', parcel: step.parcel }, step.delivery.parcel.trail)
    : endingOf(step, step.delivery.parcel.trail)

const isDown = (error: Error): boolean => error instanceof ReprieveError && error.code === 'unavailable'

const isRefused = (error: Error): boolean => error instanceof ReprieveError && error.code === 'bad_event'

/**
 * A retry waits there. A letter can't be handed over, but its event can, as it came: what fails there once more is buried
 * there. Not what can't be read: that it is broken would be forgotten on the way.
 */
const asideOf = (step: Step, now: Instant): Step | undefined => {
  const { delivery } = step
  if (step.do === 'later') return { do: 'companion', delivery, parcel: step.parcel }
  if (step.do !== 'bury' || delivery.broken !== undefined) return undefined
  return { do: 'companion', delivery, parcel: { ...delivery.parcel, due: now } }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))
