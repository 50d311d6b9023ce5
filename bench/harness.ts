import { setTimeout as sleep } from 'node:timers/promises'

/** What a heat saw through, and what it counted on the way. */
export interface Tally {
  readonly events: number
  readonly counts?: Readonly<Record<string, number>>
}

/** The first events of a heat: they go the same way as the others, and are not timed. */
export interface Lead {
  readonly events: number
  /** The last of them is through. */
  over(): void
}

/** One contender's turn in one round, on fresh ground. */
export interface Heat {
  /** The only part that is timed, and that from the end of the lead on. */
  run(lead: Lead): Promise<Tally>
  close(): Promise<void>
}

export interface Contender {
  readonly name: string
  /** The ratio to the raw loop that is hoped for; one without an aim is only stated. */
  readonly aim?: number
  /** The aim is one of processor time: how long it waits for the disk is not what it is about. */
  readonly aimsAtCpu?: true
  /** The same to other contenders of the race, by name. */
  readonly against?: Readonly<Record<string, number>>
  /** The most that may be counted, by name. Held to in every heat, whatever the time it took. */
  readonly limits?: Readonly<Record<string, number>>
  prepare(events: number): Promise<Heat>
}

/** The first contender is the raw loop; the others are measured by it, within the same round. */
export interface Race<C = Contender> {
  readonly name: string
  /** Of the bench's events, how many a heat of this race has. Absent: all. */
  readonly share?: number
  /** Of a heat's events, how many more go in front of them, untimed. Absent: none. */
  readonly lead?: number
  /** Milliseconds for the server to be done with what was put there for a heat. Absent: none. */
  readonly rest?: number
  readonly contenders: readonly [C, ...C[]]
}

export interface Lap {
  /** Events a second. */
  readonly rate: number
  /** Microseconds of processor time an event. */
  readonly cpu: number
  readonly tally: Tally
}

/** How a heat is to be run. */
export interface Heading {
  readonly events: number
  readonly lead: number
  readonly rest: number
}

/** A contender, wherever it runs. */
export interface Entrant extends Omit<Contender, 'prepare'> {
  lap(heading: Heading): Promise<Lap>
  end(): Promise<void>
}

/** Counted once and not timed. */
export interface Probe {
  readonly name: string
  readonly limits: Readonly<Record<string, number>>
  run(events: number): Promise<Readonly<Record<string, number>>>
}

export interface Plan {
  readonly races: readonly Race<Entrant>[]
  readonly probes: readonly Probe[]
  readonly events: number
  readonly rounds: number
  readonly say: (line: string) => void
}

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

export interface Standing {
  readonly contender: string
  /** To the raw loop of the same round; absent for the raw loop itself. */
  readonly ratio?: Spread
  readonly aim?: number
  readonly aimsAtCpu?: true
  /** The raw loop's processor time over ours, user and system: a busy neighbour hardly shows in it. */
  readonly cpu?: Spread
  readonly against: readonly Against[]
  /** The highest of all heats, with its limit where it has one. */
  readonly counts: Readonly<Record<string, Count>>
  /** Events a second, here and now. */
  readonly rate: Spread
}

/** To another contender in the same round, with the ratio that is hoped for. */
export interface Against {
  readonly contender: string
  readonly ratio: Spread
  readonly cpu: Spread
  readonly aim: number
}

export interface Count {
  readonly most: number
  readonly limit?: number
}

export interface Result {
  readonly races: readonly {
    readonly name: string
    /** Timed in each heat. */
    readonly events: number
    readonly standings: readonly Standing[]
  }[]
  readonly probes: readonly { readonly name: string; readonly counts: Readonly<Record<string, Count>> }[]
}

/** What the compiler has to learn it learns soon. */
const WARM_UP = 0.5

/**
 * Contenders take turns within each round, in another order each time, and only ratios within one round are compared: what
 * else the machine does then falls on all of them alike.
 */
export const runPlan = async ({ races, probes, events, rounds, say }: Plan): Promise<Result> => {
  const laps = new Map<Entrant, Lap[]>()
  for (let round = 0; round <= rounds; round++) {
    for (const { name, contenders, share = 1, lead = 0, rest = 0 } of races) {
      for (const contender of ordered(contenders, round)) {
        const timed = Math.ceil(events * share * (round === 0 ? WARM_UP : 1))
        const lap = await contender.lap({ events: timed, lead: Math.ceil(timed * lead), rest })
        hold(contender.name, lap.tally.counts ?? {}, contender.limits ?? {})
        const rate = Math.round(lap.rate).toLocaleString('en')
        say(`${round === 0 ? 'warm-up' : `round ${round}/${rounds}`}  ${name}  ${contender.name}  ${rate}/s`)
        if (round > 0) laps.set(contender, [...(laps.get(contender) ?? []), lap])
      }
    }
  }
  const counted = []
  for (const { name, limits, run } of probes) {
    const counts = await run(events)
    hold(name, counts, limits)
    counted.push({ name, counts: told([counts], limits) })
  }
  return {
    races: races.map(({ name, contenders, share = 1 }) => ({
      name,
      events: Math.ceil(events * share),
      standings: standingsOf(contenders, laps),
    })),
    probes: counted,
  }
}

/** Fails where not every event was seen through, each once. */
export const runHeat = async (
  { name, prepare }: Contender,
  { events, lead, rest }: Heading,
): Promise<Lap> => {
  const heat = await prepare(lead + events)
  try {
    await sleep(rest)
    let begun = performance.now()
    let before = process.cpuUsage()
    let isOver = lead === 0
    const over = () => {
      begun = performance.now()
      before = process.cpuUsage()
      isOver = true
    }
    const tally = await heat.run({ events: lead, over })
    const took = performance.now() - begun
    const { user, system } = process.cpuUsage(before)
    if (tally.events !== lead + events)
      throw new Error(`${name}: ${tally.events} events were counted, not ${lead + events}`)
    if (!isOver) throw new Error(`${name}: nobody said when the lead of ${lead} events was over`)
    return { rate: (events / took) * 1000, cpu: (user + system) / events, tally }
  } finally {
    await heat.close()
  }
}

const hold = (
  name: string,
  counts: Readonly<Record<string, number>>,
  limits: Readonly<Record<string, number>>,
): void => {
  for (const [what, limit] of Object.entries(limits)) {
    const count = counts[what]
    if (count === undefined) throw new Error(`${name}: ${what} was not counted`)
    if (count > limit) throw new Error(`${name}: ${what} is ${count}, at most ${limit} is promised`)
  }
}

/** Each is first, second … last as often as the others, and after as many different ones as there are rounds for. */
const ordered = (contenders: Race<Entrant>['contenders'], round: number): readonly Entrant[] =>
  contenders.map((_, i) => {
    const step = i % 2 === 1 ? (i + 1) / 2 : -i / 2
    return contenders.at((round + step) % contenders.length)!
  })

const standingsOf = (
  contenders: Race<Entrant>['contenders'],
  laps: ReadonlyMap<Entrant, readonly Lap[]>,
): Standing[] =>
  contenders.map((contender, index) => {
    const own = laps.get(contender)!
    const raw = laps.get(contenders[0])!
    const counts = own.map(({ tally }) => tally.counts ?? {})
    return {
      contender: contender.name,
      ...(index > 0 && ratiosTo(raw, own)),
      ...(contender.aim !== undefined && { aim: contender.aim }),
      ...(contender.aimsAtCpu && { aimsAtCpu: true }),
      against: Object.entries(contender.against ?? {}).flatMap(([name, aim]) => {
        const other = contenders.find((each) => each.name === name)
        return other ? [{ contender: name, ...ratiosTo(laps.get(other)!, own), aim }] : []
      }),
      counts: told(counts, contender.limits ?? {}),
      rate: spread(own.map(({ rate }) => rate)),
    }
  })

const ratiosTo = (others: readonly Lap[], own: readonly Lap[]) => ({
  ratio: spread(own.map(({ rate }, round) => rate / others[round]!.rate)),
  cpu: spread(own.map(({ cpu }, round) => others[round]!.cpu / cpu)),
})

const told = (
  all: readonly Readonly<Record<string, number>>[],
  limits: Readonly<Record<string, number>>,
): Record<string, Count> =>
  Object.fromEntries(
    Object.keys(all[0] ?? {}).map((what) => {
      const limit = limits[what]
      return [
        what,
        { most: Math.max(...all.map((each) => each[what] ?? 0)), ...(limit !== undefined && { limit }) },
      ]
    }),
  )

const spread = (values: readonly number[]): Spread => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  const median = (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2
  return { median, min: sorted[0]!, max: sorted.at(-1)! }
}
