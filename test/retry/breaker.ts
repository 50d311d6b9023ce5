import {
  type BreakerRules,
  type BreakerState,
  breaker,
  closedBreaker,
  type Signal,
} from '../../src/core/breaker.ts'
import { noCounts, tally } from '../../src/core/breaker-counts.ts'

const RULES: BreakerRules = { name: 'crm', failures: 3, open: 30_000, probes: 1, successes: 1 }

/** A breaker to play with: signals in, what it says out, time and dice in hand. */
export const stage = (rules: Partial<BreakerRules> = {}, rolls: readonly number[] = []) => {
  const all = { ...RULES, ...rules }
  const left = [...rolls]
  const at = {
    now: 1_000_000,
    state: closedBreaker as BreakerState,
    counts: noCounts,
  }
  const roll = () => {
    const next = left.shift()
    if (next === undefined) throw new Error('nobody should have thrown the dice')
    return next
  }
  const send = (signal: Signal) => {
    const step = breaker(all, at.state, signal, at.now, roll)
    at.counts = tally(at.counts, signal.is, at.state, step)
    at.state = step.state
    return step
  }
  const permit = (): number => {
    const step = send({ is: 'ask' })
    if (!('permit' in step)) throw new Error(`refused: ${JSON.stringify(step)}`)
    return step.permit
  }
  const refusal = () => {
    const step = send({ is: 'ask' })
    if (!('refused' in step)) throw new Error('let through')
    return step.refused
  }
  const call = (is: 'success' | 'failure') => send({ is, permit: permit() })
  const fail = (times: number) => {
    for (let i = 0; i < times; i++) call('failure')
  }
  return { at, send, permit, refusal, call, fail }
}
