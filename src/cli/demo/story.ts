import type { Millis } from '../../core/time.ts'
import type { Mishap, Weather } from './smtp-server.ts'

/** What is wrong with a task, until the repair or for a while. */
type Trouble = 'rate' | 'reset' | 'hang' | 'closed' | 'greylist' | 'old form'

export interface Task {
  readonly name: string
  readonly to: string
  readonly type: 'todo.task.created' | 'todo.task.reminder'
  readonly trouble?: Trouble
  readonly data: Readonly<Record<string, string>>
}

const PEOPLE =
  'ada ben cleo dan eve finn gita hugo ines jon kim lena mo nils olga pia rosa sam tom uma'.split(' ')
const TROUBLES: Readonly<Record<number, Trouble>> = {
  8: 'rate',
  9: 'closed',
  10: 'reset',
  12: 'greylist',
  13: 'hang',
  15: 'old form',
  17: 'closed',
}
const ROUND = PEOPLE.length

/** The tasks of the story: each round of twenty has the same troubles. */
export const tasks = (count: number): readonly Task[] =>
  Array.from({ length: count }, (_, i): Task => {
    const name = `t-${String(i + 1).padStart(String(count).length, '0')}`
    const round = Math.floor(i / ROUND)
    const to = `${PEOPLE[i % ROUND]}${round === 0 ? '' : round + 1}@example.org`
    const trouble = troubleOf(i % ROUND, round)
    return {
      name,
      to,
      type: trouble === 'greylist' ? 'todo.task.reminder' : 'todo.task.created',
      ...(trouble && { trouble }),
      data: trouble === 'old form' ? { id: name, mail: to } : { id: name, owner: to },
    }
  })

/** A server that hangs holds a slot for as long as the timeout allows: one in the whole story is enough. */
const troubleOf = (place: number, round: number): Trouble | undefined =>
  TROUBLES[place] === 'hang' && round > 0 ? undefined : TROUBLES[place]

export interface Day extends Weather {
  /** The mail server is down from now on for so long. */
  outage(ms: Millis): void
  /** Mailboxes are opened, and whoever was put off is let in. */
  repair(): void
  readonly repaired: boolean
}

/** How the mail server fares: which mishap each connection and each recipient meets. */
export const badDay = (all: readonly Task[], now: () => number): Day => {
  const troubles = new Map(all.flatMap(({ to, trouble }) => (trouble ? [[to, trouble] as const] : [])))
  const tries = new Map<string, number>()
  let downUntil = 0
  let repaired = false

  const mishapFor = (trouble: Trouble | undefined, tried: number): Mishap => {
    if (trouble === 'rate' && tried <= 2) return { reply: '450 too many from you' }
    if (trouble === 'reset' && tried <= 2) return 'reset'
    if (trouble === 'hang' && tried <= 1) return 'hang'
    if (trouble === 'closed' && !repaired) return { reply: '550 no such mailbox' }
    if (trouble === 'greylist' && !repaired) return { reply: '451 come back later' }
    return undefined
  }

  return {
    outage: (ms) => {
      downUntil = now() + ms
    },
    repair: () => {
      repaired = true
    },
    get repaired() {
      return repaired
    },
    greeting: () => (now() < downUntil ? { reply: '421 not available' } : undefined),
    recipient: (address) => {
      const tried = (tries.get(address) ?? 0) + 1
      tries.set(address, tried)
      return mishapFor(troubles.get(address), tried)
    },
  }
}
