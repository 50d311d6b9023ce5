import type { Fact } from '../../contracts/journal.ts'
import type { Instant, Millis } from '../../core/time.ts'
import { type Attempts, createAttempts } from './attempts.ts'
import { type Expectation, type Fate, isWith, nameOf, newFate } from './fate.ts'
import { createHomes, type Homes } from './homes.ts'
import type { Concern, Life } from './life.ts'
import type { Lines } from './lines.ts'
import { createNoted } from './noted.ts'
import { createTokens, type Tokens } from './tokens.ts'
import type { Broken, Violation } from './violation.ts'

/**
 * The model: what the world was asked to do and did, below all faults, and what handlers did. It knows nothing of how
 * the runtime works, only what it promised; a broken promise is noted at the step that broke it.
 */
export interface Account extends Homes, Tokens, Attempts {
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
  readonly lines: Lines
  told(life: Life, fact: Fact): void
}

export const createAccount = (now: () => Instant, trace: (who: string, what: string) => void): Account => {
  const noted = createNoted(now, trace)
  const { fates, violations, broken, namesakes, lines } = noted
  const { mayAct, endClaim, ...tokens } = createTokens(noted)
  const stalls: (readonly [from: Instant, to: Instant])[] = []
  const excuseAll = (life: Life): void => {
    for (const fate of fates.values()) if (isWith(life, fate)) fate.excuses++
  }

  return {
    ...createHomes(noted, { mayAct, endClaim, ...tokens }),
    ...tokens,
    ...createAttempts(noted),
    fates,
    violations,
    broken,
    lines,
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
}
