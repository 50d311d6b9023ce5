import { ReprieveError } from '../../core/error.ts'
import { type Instant, type Millis, span } from '../../core/time.ts'
import { assign } from './assign.ts'
import { type Bell, bell } from './bell.ts'
import { type Commits, commitsOf } from './commits.ts'
import { isOfTopic, reasonOf } from './errors.ts'
import type { Tenure } from './holding.ts'
import type { Host } from './host.ts'
import { joiningOf } from './joining.ts'
import { type Membership, type Offsets, offsetsOf, type Place, placeOf } from './offsets.ts'
import { pulseOf } from './pulse.ts'
import { mayBeOut, startTenures } from './start.ts'
import { mendingMeanwhile } from './unreachable.ts'
import type { Wire } from './wire.ts'
import { within } from './within.ts'

/**
 * away: not joined yet · here: partitions are ours · finishing: nothing more is handed over, what is out may
 * still be settled · moving: between two memberships, commits wait · gone: left for good
 */
export type Phase = 'away' | 'here' | 'finishing' | 'moving' | 'gone'

/** One member of a consumer group, shared by all its inlets in this process. */
export interface Member {
  /** Rings when something may be handed over, or settled. */
  readonly bell: Bell
  /** Rings when something may be fetched. */
  readonly hunger: Bell
  readonly offsets: Offsets
  readonly commits: Commits
  readonly phase: Phase
  /** Deliveries may be handed over: partitions are ours as far as the last heartbeat tells. */
  readonly handing: boolean
  readonly tenures: ReadonlyMap<string, Tenure>
  /** How many partitions each topic of the group had when we dealt them out; none where another member does. */
  readonly dealt: ReadonlyMap<string, number>
  /** Aborts when it has left. */
  readonly left: AbortSignal
  /** Joins, or joins again where the topics have changed. */
  join(): void
  /** Makes what is missing of its topics, and joins again where it has to go on without one, or no longer has to. */
  mend(): Promise<void>
  /** It is known whose the partitions are. */
  readonly settled: boolean
  /** Until that is known. */
  steady(): Promise<void>
  /** A settlement begins; the function it answers with ends it. */
  settling(): () => void
  /** Reads a partition anew from the earliest record there is: the log no longer has what we asked for. */
  restart(tenure: Tenure): Promise<void>
  trouble(doing: string, error: unknown, retryIn?: Millis): void
  /** What was in trouble since then is not any more. */
  goesOn(since: Instant): void
  leave(): Promise<void>
}

/** How long a rebalance waits for handlers at work, so that their deliveries need not run again elsewhere. */
const GRACE: Millis = 1_000
/** How long leaving may take before the broker has to find out by itself. */
const PATIENCE: Millis = 5_000
/** How long a transaction of the last owner is waited for: brokers end one that is left open sooner. */
const OPEN: Millis = 30_000

/** Before a topic that was deleted is made anew: whoever did so may be at it himself. */
const GONE: Millis = 1_000

export const memberOf = (wire: Wire, group: string, host: Host): Member => {
  const { clock, journal } = wire.tools
  const { session } = wire.settings
  const ringing = bell(clock)
  const hunger = bell(clock)
  const offsets = offsetsOf(wire, group)
  const tenures = new Map<string, Tenure>()
  const left = new AbortController()
  let dealt: ReadonlyMap<string, number> = new Map()
  let phase: Phase = 'away'
  let membership: Membership | undefined
  /** The deal that is being taken over; nothing more comes of it once another one is asked for. */
  let taking: Membership | undefined
  let settlements = 0

  const enter = (next: Phase) => {
    if (phase !== 'gone') phase = next
    ringing.ring()
    hunger.ring()
  }
  const where = `kafka group ${group}`
  const trouble = (doing: string, error: unknown, retryIn?: Millis) => {
    const fix = error instanceof ReprieveError ? error.fix : mendingMeanwhile(error, wire.settings)
    const text = `kafka at ${wire.settings.brokers.join(', ')}: ${doing}: ${reasonOf(error)}`
    const named = new ReprieveError('unavailable', text, { cause: error, ...(fix !== undefined && { fix }) })
    journal({
      is: 'trouble',
      at: clock.now(),
      where,
      error: named,
      ...(retryIn !== undefined && { retryIn }),
    })
  }
  const isDoubtful = () => phase === 'here' && pulse.isLost
  const steady = async () => {
    while (phase === 'moving' || isDoubtful()) await ringing.wait()
  }
  const commits = commitsOf(offsets, {
    clock,
    steady,
    membership: () => membership,
    // While nothing more is handed over, what is out is known exactly.
    out: (each) => (phase === 'here' ? mayBeOut(each, host) : each.reach()),
  })
  const end = (each: Tenure) => {
    each.over = true
    tenures.delete(placeOf(each))
  }
  const outNow = () => [...tenures.values()].reduce((sum, each) => sum + each.out, 0)

  /** Handlers get a short while to finish; what they settle is committed before the partitions go. */
  const finish = async (grace: Millis) => {
    enter('finishing')
    const since = clock.now()
    for (;;) {
      const passed = clock.now() - since
      const wait = settlements > 0 ? session / 3 - passed : outNow() > 0 ? grace - passed : 0
      if (wait <= 0) break
      await ringing.wait(wait)
    }
    // no heartbeat goes out meanwhile: what a transaction keeps from being committed is written when it is known whose it is
    const rest = Math.max(session / 3 - (clock.now() - since), GRACE)
    await within(rest, clock, () => commits.flush(tenures.values())).catch(() => {})
  }

  const beforeJoin = async () => {
    joining.asks()
    if (phase === 'here') {
      // No member id: the broker has thrown us out, and everything may be someone else's by now.
      if (consumer.memberId === null) for (const each of [...tenures.values()]) end(each)
      else await finish(GRACE)
    }
    // who has left asks for nothing more: that it is refused would be followed by a timer that keeps the process
    if (left.signal.aborted) return new Promise<void>(() => {})
    // topics may have more partitions than when they were last looked at
    consumer.clearMetadata()
    dealt = new Map()
    taking = undefined
    enter('moving')
  }

  const arrive = async (next: Membership, places: readonly Place[]) => {
    const passed = membership?.member === next.member ? next.generation - membership.generation : undefined
    // Whoever does not deal and joins again without need is told the generation it has: it goes on where it was.
    if (passed === 0 && phase !== 'moving') return
    // One generation after the other: nobody else can have had a partition that was ours and is again.
    const unbroken = passed === 0 || passed === 1
    membership = next
    const ours = new Set(places.map(placeOf))
    for (const [place, each] of tenures) if (!unbroken || !ours.has(place)) end(each)
    // Whoever finishes is about to ask again, and takes over what it is dealt then.
    if (phase === 'finishing' || phase === 'gone') return
    taking = next
    enter('moving')
    const patience = clock.now() + OPEN
    for (let wait = 100; taking === next; wait = Math.min(2 * wait, 5_000)) {
      try {
        const stable = clock.now() < patience
        const started = await startTenures(wire, offsets, next, host, places, tenures, { stable })
        if (taking !== next) return
        if (started === 'fenced') return unlessAskedAnew(next)
        for (const each of started) tenures.set(placeOf(each), each)
        taking = undefined
        pulse.felt()
        enter('here')
      } catch (error) {
        if (left.signal.aborted) return
        const isGone = isOfTopic(error)
        const pause = isGone ? Math.max(wait, GONE) : wait
        trouble('taking over partitions', error, pause)
        await clock.sleep(pause, left.signal)
        // somebody deleted or hid one: it may have other partitions when it is made anew, and they are dealt out anew
        if (isGone && taking === next)
          await host.ensure(true).then(
            () => joining.join(),
            () => {},
          )
      }
    }
  }

  /** The next heartbeat finds out, and joins again. Where it is answered as if all were well, nobody else would. */
  const unlessAskedAnew = async (dealt: Membership) => {
    await clock.sleep(session, left.signal)
    if (taking !== dealt || left.signal.aborted) return
    trouble('taking over partitions', new Error('commits are refused, and heartbeats are not'))
    joining.join()
  }

  const deal: typeof assign = (leader, members, topics, metadata) => {
    dealt = new Map([...metadata.topics].map(([name, { partitionsCount }]) => [name, partitionsCount]))
    return assign(leader, members, topics, metadata)
  }

  const consumer = wire.member({ groupId: group, beforeJoin, assign: deal })
  const joining = joiningOf({ consumer, host, clock, left: left.signal, trouble })
  const pulse = pulseOf(consumer, wire, {
    onBack: () => ringing.ring(),
    onFailed: (error, isFirst) => {
      if (isFirst) trouble('heartbeat', error, wire.settings.heartbeat)
      // none goes out while the client can't be told of all its topics; the next one tells whether it helped
      if (isOfTopic(error)) joining.mend().catch(() => {})
    },
  })
  consumer.on('consumer:group:join', ({ memberId, generationId = 0, isLeader, assignments = [] }) => {
    // to the only member there is the client gives all, and asks nobody
    if (isLeader && dealt.size === 0)
      dealt = new Map(assignments.map(({ topic, partitions }) => [topic, partitions.length]))
    const places = assignments.flatMap(({ topic, partitions }) =>
      partitions.map((partition) => ({ topic, partition })),
    )
    void arrive({ member: memberId, generation: generationId }, places)
  })

  /** A broker that answers nothing is not waited for: what was not committed comes again. */
  const before = async (last: Instant, work: Promise<void>) => {
    const patience = new AbortController()
    const done = work.finally(() => patience.abort())
    await Promise.race([done, clock.sleep(Math.max(last - clock.now(), GRACE), patience.signal)])
  }
  const leave = async () => {
    if (phase === 'gone') return
    const last = clock.now() + PATIENCE
    if (phase === 'here') await before(last, finish(0))
    const pending = phase === 'moving'
    enter('gone')
    taking = undefined
    left.abort()
    for (const each of [...tenures.values()]) end(each)
    ringing.ring()
    const id = consumer.memberId
    const leaving = async () => {
      if (pending && id) {
        // The member's own connection waits for its join to be answered: leave by another one.
        consumer.leaveGroup(true, () => {})
        await offsets.leave(id).catch(() => {}) // as below
      }
      // a member that can't say goodbye is dropped by the broker after its session timeout
      await consumer.close(true).catch(() => consumer.connections.close())
    }
    await before(last, leaving())
  }

  return {
    bell: ringing,
    hunger,
    offsets,
    commits,
    tenures,
    left: left.signal,
    get dealt() {
      return dealt
    },
    get phase() {
      return phase
    },
    get handing() {
      return phase === 'here' && !isDoubtful()
    },
    get settled() {
      return phase !== 'moving' && !isDoubtful()
    },
    join: joining.join,
    mend: joining.mend,
    steady,
    settling: () => {
      settlements++
      return () => {
        settlements--
        ringing.ring()
      }
    },
    restart: async (old) => {
      const place = { topic: old.topic, partition: old.partition }
      const as = membership
      if (!as || phase !== 'here' || old.over) return
      const started = await startTenures(wire, offsets, as, host, [place], new Map(), { earliest: true })
      const fresh = started === 'fenced' ? undefined : started[0]
      if (!fresh || membership !== as || old.over) return
      end(old)
      tenures.set(placeOf(fresh), fresh)
      hunger.ring()
    },
    trouble,
    goesOn: (since) => {
      const at = clock.now()
      journal({
        is: 'notice',
        at,
        text: `${where} goes on, after ${span(Math.ceil((at - since) / 100) * 100)}`,
      })
    },
    leave,
  }
}
