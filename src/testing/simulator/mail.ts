import { Transient } from '../../core/errors.ts'
import type { Instant } from '../../core/time.ts'
import type { Account } from './account.ts'
import { BREAKER, BUDGET, CONCURRENCY } from './book.ts'
import type { Life } from './life.ts'

/** A dependency that has an outage, and counts who calls it. */
export interface Downstream {
  send(life: Life, retry: boolean): Promise<void>
  /** I8, for every process that called. */
  check(account: Account, guarded: boolean): void
}

interface Calls {
  failed: number
  first: number
  retries: number
  readonly since: Instant
  until: Instant
}

export const createMail = (
  now: () => Instant,
  outage: { readonly from: Instant; readonly to: Instant },
): Downstream => {
  const calls = new Map<Life, Calls>()
  return {
    send: async (life, retry) => {
      const own = calls.get(life) ?? { failed: 0, first: 0, retries: 0, since: now(), until: now() }
      calls.set(life, own)
      own.until = now()
      if (retry) own.retries++
      else own.first++
      await life.step()
      if (now() < outage.from || now() >= outage.to) return
      own.failed++
      throw new Transient('mail is down')
    },
    check: (account, guarded) => {
      for (const [life, { failed, first, retries, since, until }] of calls) {
        const probes = BREAKER.probes * (1 + Math.ceil((outage.to - outage.from) / BREAKER.open))
        // those that were on their way when it opened count as well
        const most = BREAKER.failures + CONCURRENCY - 1 + probes
        if (guarded && failed > most)
          account.broken('I8', `${life.name} called mail ${failed} times in its outage, at most ${most}`)
        const granted = BUDGET.burst + BUDGET.ratio * first + (BUDGET.perSecond * (until - since)) / 1000
        if (retries > granted)
          account.broken('I8', `${life.name} made ${retries} retries, ${granted} were granted`)
      }
    },
  }
}
