import type { Fact } from '../../contracts/journal.ts'
import type { Delivery } from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import type { Claim, Ending, Held, LedgerKey } from '../../core/ledger.ts'
import type { Letter } from '../../core/letter.ts'
import type { Parcel } from '../../core/parcel.ts'
import type { Instant, Millis } from '../../core/time.ts'
import type { Trail } from '../../core/trail.ts'
import { KILLS } from './book.ts'
import { checkReason, checkReplay } from './expiry.ts'
import {
  type Expectation,
  endsOf,
  type Fate,
  isTwin,
  isWith,
  letterName,
  nameOf,
  newFate,
  type Out,
  type Run,
  tellParcel,
} from './fate.ts'
import type { Concern, Life } from './life.ts'
import { createLines, isRevival, type Lines } from './lines.ts'
import { checkBeginning, orphan } from './runs.ts'
import type { Broken, Violation } from './violation.ts'

/**
 * The model: what the world was asked to do and did, below all faults, and what handlers did. It knows nothing of how
 * the runtime works, only what it promised; a broken promise is noted at the step that broke it.
 */
export interface Account {
  readonly fates: ReadonlyMap<string, Fate>
  readonly violations: Violation[]
  expect(expected: Expectation): void
  broken: Broken
  excuse(concern: Concern): void
  /** The broker hands it over once more. */
  doubled(concern: Concern): void
  /** Of all that this process has out. */
  excuseAll(life: Life): void
  /** Nothing is taken by it until then; what it has out is excused. */
  stands(life: Life, until: Instant): void
  /** How long processes stood still meanwhile. */
  stoodStill(from: Instant, to: Instant): Millis
  /** With all that it has out. */
  died(life: Life): void
  /** The publisher was told that it is durable. */
  accepted(event: Event): void
  /** The world took it in, for one service. */
  placed(service: string, parcel: Parcel, how: string): void
  /** It was sent to its subscription and not put there: whether it came to life where it lay dead. */
  revived(service: string, parcel: Parcel): boolean
  /** What waits behind this letter was let go. */
  released(service: string, letter: string): void
  /** An operator begins to replay; what is expired only where he says so. */
  operates(although: readonly 'expired'[]): void
  readonly lines: Lines
  handedOver(life: Life, service: string, delivery: Delivery): void
  /** Gone from where it lay. */
  removed(life: Life, service: string, delivery: Delivery): void
  buried(life: Life, letter: Letter): void
  later(life: Life, service: string, delivery: Delivery, parcel: Parcel): void
  givenBack(life: Life, service: string, delivery: Delivery): void
  lost(life: Life, service: string, delivery: Delivery): void
  claimed(who: Life, key: LedgerKey, claim: Claim): void
  finished(who: Life, held: Held, as: Ending, changed: boolean): void
  began(life: Life, service: string, event: Pick<Event, 'id' | 'headers'>, trail: Trail): Run
  /** `late`: its time was over when it came to its end. Spoiled: by another of its batch, so that it counts for nothing. */
  ended(run: Run, how: 'done' | 'answered' | 'failed' | 'spoiled', late: boolean): void
  /** Its handler ends the process. */
  kills(run: Run): void
  effect(run: Run, idempotencyKey: string): void
  /** Its transaction is durable, with all that is in it. */
  committed(run: Run): void
  told(life: Life, fact: Fact): void
}

export const createAccount = (now: () => Instant, trace: (who: string, what: string) => void): Account => {
  const fates = new Map<string, Fate>()
  /** Those that share an id. */
  const namesakes = ({ service, id }: Concern): readonly Fate[] =>
    [false, true].flatMap((twin) => fates.get(nameOf({ service, id, twin })) ?? [])
  const violations: Violation[] = []
  const outs = new Map<Delivery, Out>()
  /** Who was handed this parcel last: only that one may settle it. */
  const latest = new WeakMap<Parcel, Out>()
  const lines = createLines()
  /** When somebody began to replay who does not want what is expired. */
  let replayedFrom: Instant | undefined
  let moment = 0
  let places = 0

  const stalls: (readonly [from: Instant, to: Instant])[] = []
  const excuseAll = (life: Life): void => {
    for (const fate of fates.values()) if (isWith(life, fate)) fate.excuses++
  }

  const broken: Broken = (law, what) => {
    trace('model', `${law} broken: ${what}`)
    violations.push({ law, what, at: now() })
  }
  const fateOf = (service: string, event: Pick<Event, 'id' | 'headers'>): Fate => {
    const name = { service, id: event.id, twin: isTwin(event) }
    const fate = fates.get(nameOf(name))
    if (fate) return fate
    const unknown = newFate({ ...name, ...UNKNOWN })
    fates.set(nameOf(unknown), unknown)
    broken('contract', `${nameOf(unknown)} was never published`)
    return unknown
  }
  const fateOfKey = (key: LedgerKey): Fate =>
    namesakes(key).find(({ hash }) => hash === key.hash) ?? fateOf(key.service, { id: key.id, headers: {} })
  const forget = (delivery: Delivery): Out | undefined => {
    const out = outs.get(delivery)
    if (!out) return undefined
    outs.delete(delivery)
    const { outs: own } = out.fate
    own.splice(own.indexOf(out), 1)
    return out
  }
  /** Only the last one who was handed a parcel changes anything; with `claims`, only under the last token. */
  const mayAct = (out: Out | undefined, delivery: Delivery, what: string): void => {
    if (out?.superseded) broken('I4', `${nameOf(out.fate)}: a holder that had lost it did ${what}`)
    const { claim } = delivery
    if (!out || claim?.is !== 'fresh' || claim.held.token === out.fate.token) return
    broken('I4', `${nameOf(out.fate)}: ${what} under token ${claim.held.token}, ${out.fate.token} is current`)
  }
  const endClaim = (delivery: Delivery): void => {
    if (delivery.claim?.is !== 'fresh') return
    const fate = fateOfKey(delivery.claim.held.key)
    if (fate.token === delivery.claim.held.token) fate.claimedBy = undefined
  }

  const account: Account = {
    fates,
    violations,
    broken,
    expect: (expected) => void fates.set(nameOf(expected), newFate(expected)),
    excuse: (concern) => {
      for (const fate of namesakes(concern)) {
        fate.excuses++
        fate.mishaps++
      }
    },
    doubled: (concern) => {
      for (const fate of namesakes(concern)) fate.copies++
    },
    excuseAll,
    stands: (life, until) => {
      stalls.push([now(), until])
      excuseAll(life)
    },
    stoodStill: (from, to) =>
      stalls.reduce(
        (sum, [began, ended]) => sum + Math.max(0, Math.min(ended, to) - Math.max(began, from)),
        0,
      ),
    died: (life) => {
      for (const fate of fates.values()) if (isWith(life, fate)) fate.ends++
    },
    accepted: (event) => {
      for (const fate of fates.values())
        if (fate.id === event.id && fate.twin === isTwin(event)) fate.accepted ??= now()
    },
    placed: (service, parcel, how) => {
      const fate = fateOf(service, parcel.event)
      fate.homes++
      fate.due = parcel.due
      if (how !== 'again') fate.copies++
      if (fate.place < 0) {
        fate.place = places++
        lines.enter(fate)
      }
      if (fate.outgoing && fate.accepted === undefined)
        broken('I3', `${nameOf(fate)} is published, and what led to it was never committed`)
      if (parcel.trail.generation > 0 && replayedFrom !== undefined) checkReplay(fate, replayedFrom, broken)
      trace('world', `${nameOf(fate)} ${how}: ${tellParcel(parcel, now())}`)
    },
    revived: (service, parcel) => {
      const fate = fateOf(service, parcel.event)
      if (!isRevival(fate, parcel)) return false
      fate.holding = undefined
      return true
    },
    released: (service, letter) => {
      for (const fate of fates.values()) {
        if (fate.service !== service || fate.holding !== letter) continue
        fate.holding = undefined
        fate.freed = true
        trace('world', `${nameOf(fate)} no longer holds ${fate.orderKey}`)
      }
    },
    operates: (although) => {
      // whoever does it again may name what was marked before its time was over
      if (!although.includes('expired')) replayedFrom ??= now()
    },
    lines,
    handedOver: (life, service, delivery) => {
      const { parcel, redelivered, claim } = delivery
      const fate = fateOf(service, parcel.event)
      const before = latest.get(parcel)
      if (before) before.superseded = true
      if (before && !redelivered)
        broken('contract', `${nameOf(fate)} came again and was not told redelivered`)
      const due =
        fate.copies > 1 || fate.homes > 1 || fate.excuses > 0 ? parcel.due : Math.max(parcel.due, fate.due)
      if (due > now()) broken('contract', `${nameOf(fate)} came ${due - now()} ms too early`)
      // whoever stands still hears of it when its time may be over
      if (life.pausedUntil > now()) fate.excuses++
      const out: Out = { fate, life, delivery, moment: ++moment, superseded: false, run: undefined }
      latest.set(parcel, out)
      outs.set(delivery, out)
      fate.outs.push(out)
      trace(life.name, `${nameOf(fate)} received${redelivered ? ' again' : ''}: ${tellParcel(parcel, now())}`)
      if (claim?.is === 'fresh') account.claimed(life, claim.held.key, claim)
      else if (claim) trace(life.name, `${nameOf(fate)} is ${claim.is}`)
    },
    removed: (life, service, delivery) => {
      const out = forget(delivery)
      mayAct(out, delivery, 'an ack')
      endClaim(delivery)
      const fate = fateOf(service, delivery.parcel.event)
      fate.homes--
      trace(life.name, `${nameOf(fate)} acknowledged, ${fate.homes} left`)
      // elsewhere the ledger's answer tells, which comes before
      if (out?.run?.completed && delivery.claim?.is === 'fresh') fate.recorded ??= ++moment
      if (fate.completed && fate.doneAt === undefined) {
        fate.doneAt = now()
        fate.doneIn = delivery.parcel.trail.generation
      }
      const { generation } = delivery.parcel.trail
      const isDead = [...fate.deaths.keys()].some((life) => life >= generation)
      if (fate.completed || fate.homes > 0 || isDead) return
      broken('I2', `${nameOf(fate)} was acknowledged: not done, not dead, and nowhere else`)
    },
    buried: (life, letter) => {
      const { service, event, trail, kind, reason } = letter
      const fate = fateOf(service, event)
      trace(life.name, `${nameOf(fate)} buried, life ${trail.generation}, ${trail.spent} spent`)
      if (kind === 'crash' && fate.does !== 'kills' && endsOf(fate, now()) < (fate.dedup ? KILLS : KILLS - 1))
        broken('I7', `${nameOf(fate)} was quarantined for what others did`)
      if (!fate.deaths.has(trail.generation)) {
        fate.deaths.set(trail.generation, { moment: ++moment, letter: letterName(letter) })
      }
      if (fate.holds && fate.orderKey !== undefined) fate.holding = letter.id
      checkReason(fate, letter, now(), broken)
      if (reason === 'conflict' && namesakes(fate).length < 2)
        broken('I3', `${nameOf(fate)} was buried as a conflict, and no other has its id`)
    },
    later: (life, service, delivery, parcel) => {
      const out = forget(delivery)
      mayAct(out, delivery, 'a later')
      endClaim(delivery)
      const fate = fateOf(service, parcel.event)
      fate.due = parcel.due
      trace(life.name, `${nameOf(fate)} later: ${tellParcel(parcel, now())}`)
    },
    givenBack: (life, service, delivery) => {
      // it may be the broker's doing, and the holder unaware: it then runs what it has lost
      const out = outs.get(delivery)
      if (out) out.superseded = true
      outs.delete(delivery)
      endClaim(delivery)
      trace(life.name, `${nameOf(fateOf(service, delivery.parcel.event))} given back`)
    },
    lost: (life, service, delivery) => {
      forget(delivery)
      const fate = fateOf(service, delivery.parcel.event)
      fate.excuses++
      trace(life.name, `${nameOf(fate)} lost`)
    },
    claimed: (life, key, claim) => {
      const fate = fateOfKey(key)
      if (claim.is !== 'fresh')
        return trace(life.name, `${nameOf(fate)} claim for attempt ${key.attempt}: ${claim.is}`)
      const { token } = claim.held
      trace(
        life.name,
        `${nameOf(fate)} claimed for attempt ${key.attempt}, token ${token}, crashes ${claim.crashes}`,
      )
      if (token <= fate.token) broken('I4', `${nameOf(fate)}: token ${token} after ${fate.token}`)
      fate.token = Math.max(token, fate.token)
      fate.claimedBy = life
    },
    finished: (life, { key, token }, as, changed) => {
      const fate = fateOfKey(key)
      trace(
        life.name,
        `${nameOf(fate)} claim ${token} ends as ${as}${changed ? '' : ', which changes nothing'}`,
      )
      if (!changed) return
      if (as === 'done' && fate.completed) fate.recorded ??= ++moment
      if (token === fate.token) fate.claimedBy = undefined
      else broken('I4', `${nameOf(fate)}: token ${token} ended the claim of ${fate.token}`)
    },
    began: (life, service, event, trail) => {
      const fate = fateOf(service, event)
      const attempt = trail.spent + 1
      const out = fate.outs.find(
        (each) => each.life === life && !each.run && each.delivery.parcel.trail.spent === trail.spent,
      )
      trace(life.name, `${nameOf(fate)} attempt ${attempt}: ${fate.does}`)
      if (attempt > fate.limit) broken('I5', `${nameOf(fate)}: attempt ${attempt} of ${fate.limit}`)
      checkBeginning(fate, out, lines.of(fate), now(), broken)
      const ran = namesakes(fate).find((other) => other !== fate && other.tries > 0)
      if (fate.dedup && ran) broken('I3', `${nameOf(fate)} ran, and its id is known of ${nameOf(ran)}`)
      fate.tries++
      const run: Run = { fate, out: out ?? orphan(fate, life), began: now(), attempt, completed: false }
      if (out) out.run = run
      fate.runs.add(run)
      return run
    },
    ended: (run, how, late) => {
      const { fate, attempt } = run
      fate.runs.delete(run)
      trace(run.out.life.name, `${nameOf(fate)} attempt ${attempt} ${how}${late ? ', too late' : ''}`)
      if (how === 'spoiled') run.out.run = undefined
      if (how === 'done' && !late) {
        run.completed = true
        fate.completed = true
      }
      if (how !== 'failed') return
      const { generation } = run.out.delivery.parcel.trail
      const failures = (fate.failures.get(generation) ?? 0) + 1
      fate.failures.set(generation, failures)
      // without dedup every copy has attempts of its own, and each mishap may have made one more
      const { limit, copies, excuses } = fate
      const most = fate.dedup ? limit + excuses : limit * (copies + excuses)
      if (failures <= most) return
      broken('I5', `${nameOf(fate)} failed ${failures} times, and ${most} attempts were granted`)
    },
    kills: ({ fate, attempt }) => {
      // whoever came to another end is beyond suspicion, and its next attempt is counted anew
      const before = fate.kills.get(attempt) ?? 0
      const all = [...fate.kills.values()].reduce((sum, each) => sum + each, 0)
      fate.kills.set(attempt, before + 1)
      // each of them is an excuse as well, but not for the next; a mishap of another kind may hide one death
      const most = KILLS + Math.max(0, fate.excuses - all)
      if (before >= most)
        broken('I5', `${nameOf(fate)} killed ${before + 1} processes in attempt ${attempt}, at most ${most}`)
    },
    effect: (run, key) => {
      const { fate } = run
      trace(run.out.life.name, `${nameOf(fate)} has its effect, key ${key}`)
      fate.keys.add(key)
      if (fate.keys.size > 1) broken('I3', `${nameOf(fate)}: effects under ${[...fate.keys].join(' and ')}`)
    },
    committed: ({ fate, out }) => {
      trace(out.life.name, `${nameOf(fate)} has its effect committed`)
      fate.completed = true
      if (++fate.effects > 1) broken('I3', `${nameOf(fate)} has its effect ${fate.effects} times`)
    },
    told: (life, fact) => {
      if (fact.is === 'trouble') trace(life.name, `trouble, ${fact.where}: ${fact.error.message}`)
      if (fact.is === 'breaker') trace(life.name, `breaker of ${fact.name}: ${fact.from} → ${fact.to}`)
      if (fact.is !== 'done' && fact.is !== 'dead' && fact.is !== 'retry') return
      // a fact has the id, and nothing of the payload: it may be of either
      const known = namesakes({ service: fact.service, id: fact.event })
      if (fact.is === 'dead' && known.every(({ deaths }) => deaths.size === 0)) {
        broken('journal', `${fact.service}/${fact.event} was told dead, and there is no letter`)
      }
      if (fact.is === 'done' && known.every(({ doneAt }) => doneAt === undefined)) {
        broken('journal', `${fact.service}/${fact.event} was told done, and was not acknowledged`)
      }
    },
  }

  return account
}

const UNKNOWN = {
  ...{
    hash: '',
    type: '?',
    does: '?',
    limit: 1,
    timeout: 0,
    dedup: false,
    transaction: false,
    outgoing: false,
  },
  ...{ holds: false, expires: Number.POSITIVE_INFINITY },
}
