import type { Clock } from '../../contracts/tools.ts'
import type { Instant, Millis } from '../../core/time.ts'
import type { Chance } from './chance.ts'
import type { Owner, Scheduler } from './scheduler.ts'
import { type Fault, faultAt, isCrash, type Weather } from './weather.ts'

/** Which event of which service a call concerns. */
export interface Concern {
  readonly service: string
  readonly id: string
}

/** One life of a process, from its start to its crash or its leaving. */
export interface Life extends Owner {
  readonly name: string
  readonly clock: Clock
  /** Aborts when the process dies: the world stops waiting for it. */
  readonly gone: AbortSignal
  /**
   * Everything a process does to the world goes through here, and here it goes wrong. Once the process is dead no
   * answer ever comes.
   */
  gate<T>(point: string, concerns: readonly Concern[], act: () => Promise<T> | T): Promise<T>
  /** How long a call may be on its way, and a moment at which other processes come in between. */
  step(): Promise<void>
  /** Stands still for longer than its leases last. */
  stand(): Promise<void>
  crash(why: string): void
}

export interface LifeOptions {
  readonly name: string
  readonly scheduler: Scheduler
  readonly chance: Chance
  /** Nothing goes wrong when it is undefined. */
  readonly weather: () => Weather | undefined
  /** Asked before each crash: there must be some left. */
  readonly mayCrash: () => boolean
  readonly stall: Millis
  readonly trace: (who: string, what: string) => void
  readonly excuse: (concern: Concern) => void
  /** What is out is excused when a process dies or stands still. */
  readonly excuseAll: (life: Life) => void
  readonly stands: (life: Life, until: Instant) => void
  readonly died: (life: Life) => void
  readonly onCrash: (life: Life) => void
  /** The broker takes back what it handed to this process. */
  readonly cut: (life: Life) => void
}

export class Injected extends Error {
  readonly code = 'ECONNRESET'
}

export const startLife = (options: LifeOptions): Life => {
  const { name, scheduler, chance, trace } = options
  const gone = new AbortController()

  const crash = (why: string): void => {
    if (life.dead) return
    trace(name, `dies: ${why}`)
    options.excuseAll(life)
    options.died(life)
    life.dead = true
    gone.abort()
    options.onCrash(life)
  }

  const step = (): Promise<void> => {
    const latency = options.weather()?.latency ?? 0
    const ms = latency > 0 && chance.happens(0.5) ? chance.int(0, latency) : 0
    return new Promise((resolve) => void scheduler.after(ms, resolve, life))
  }

  const stand = (): Promise<void> => {
    life.pausedUntil = scheduler.now() + options.stall
    options.stands(life, life.pausedUntil)
    return step()
  }

  const faultNow = (): Fault | undefined => {
    const weather = options.weather()
    const fault = weather && faultAt(weather, chance)
    return isCrash(fault) && !options.mayCrash() ? undefined : fault
  }

  const gate: Life['gate'] = async (point, concerns, act) => {
    await step()
    const fault = faultNow()
    if (fault && fault !== 'double') {
      trace(name, `${point}: ${fault}`)
      for (const concern of concerns) options.excuse(concern)
    }
    if (fault === 'crash before') {
      crash(point)
      return never()
    }
    if (fault === 'fails') throw new Injected(`${point} fails on purpose`)
    const answer = await act()
    if (life.dead) return never()
    // what waited for long may end when the storm is over
    if (!options.weather()) return answer
    if (fault === 'crash after') {
      crash(point)
      return never()
    }
    if (fault === 'answer lost') throw new Injected(`the answer to ${point} was lost on purpose`)
    if (fault === 'stall') await stand()
    else if (fault === 'cut') {
      options.excuseAll(life)
      options.cut(life)
    } else if (chance.happens(0.2)) await step()
    return answer
  }

  const life: Life = {
    name,
    dead: false,
    pausedUntil: 0 as Instant,
    get clock() {
      return clock
    },
    gone: gone.signal,
    gate,
    step,
    stand,
    crash,
  }
  const clock = scheduler.clockOf(life)
  return life
}

const never = (): Promise<never> => new Promise(() => {})
