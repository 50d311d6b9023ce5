import type { BreakerRules } from '../core/breaker.ts'
import { ReprieveError } from '../core/error.ts'
import { BARE_BREAKER, BREAKERS, DEPENDENCIES } from '../rules/builtin.ts'
import { type Duration, millis } from './retry-duration.ts'

/** A breaker's rules with durations as in a rule book; what is left out is as in `bare`. */
export interface BreakerSpec {
  readonly name?: string
  readonly failures?: number
  readonly rate?: number
  readonly window?: { readonly calls: number } | { readonly time: Duration }
  readonly volume?: number
  readonly open?: Duration
  readonly spread?: number
  readonly probes?: number
  readonly probeLease?: Duration
  readonly successes?: number
  readonly interval?: Duration
  readonly ramp?: Duration
}

/** By the name of a breaker or a dependency that is built in, or written in place. */
export const breakerRules = (written: string | BreakerSpec): BreakerRules => {
  if (typeof written === 'string') {
    const known = BREAKERS.get(written) ?? DEPENDENCIES.get(written)?.breaker
    if (known) return known
    const names = [...BREAKERS.keys(), ...DEPENDENCIES.keys()].join(', ')
    throw new ReprieveError('bad_usage', `breaker: found '${written}', expected one of ${names}`)
  }
  const rules = {
    name: written.name ?? BARE_BREAKER.name,
    failures: written.failures ?? BARE_BREAKER.failures,
    open: millis('breaker.open', written.open, BARE_BREAKER.open),
    probes: written.probes ?? BARE_BREAKER.probes,
    successes: written.successes ?? BARE_BREAKER.successes,
    ...(written.rate !== undefined && { rate: written.rate }),
    ...(written.window && { window: windowOf(written.window) }),
    ...(written.volume !== undefined && { volume: written.volume }),
    ...(written.spread !== undefined && { spread: written.spread }),
    ...(written.probeLease !== undefined && {
      probeLease: millis('breaker.probeLease', written.probeLease, 0),
    }),
    ...(written.interval !== undefined && { interval: millis('breaker.interval', written.interval, 0) }),
    ...(written.ramp !== undefined && { ramp: millis('breaker.ramp', written.ramp, 0) }),
  }
  for (const key of ['failures', 'probes', 'successes', 'volume'] as const) whole(key, rules[key])
  if (rules.window && 'calls' in rules.window) whole('window.calls', rules.window.calls)
  for (const key of ['rate', 'spread'] as const) share(key, rules[key])
  return rules
}

const windowOf = (window: NonNullable<BreakerSpec['window']>): NonNullable<BreakerRules['window']> =>
  'calls' in window ? window : { time: millis('breaker.window.time', window.time, 0) }

const whole = (name: string, value: number | undefined): void => {
  if (value !== undefined && !(Number.isInteger(value) && value >= 1))
    refuse(name, value, 'a whole number from 1')
}

const share = (name: string, value: number | undefined): void => {
  if (value !== undefined && !(value >= 0 && value <= 1)) refuse(name, value, 'a share from 0 to 1')
}

const refuse = (name: string, value: number, expected: string): never => {
  throw new ReprieveError('bad_usage', `breaker.${name}: found ${value}, expected ${expected}`)
}
