import { ANYTHING, checkNames, FLAG, FUNCTION, MILLIS, object, text, type Wanted } from './core/given.ts'

const either = (one: Wanted, other: Wanted): Wanted => ({
  what: `${one.what} or ${other.what}`,
  like: `${one.like}, or ${other.like}`,
  fits: (value) => one.fits(value) || other.fits(value),
})

/** What `reprieve` takes. */
const KNOWN = {
  transport: text('sqlite:app.db'),
  store: text('sqlite:app.db'),
  board: text('redis://localhost'),
  rules: either(text('reprieve.yaml'), object("loadRules('reprieve.yaml')")),
  recovery: either(FLAG, object("{ every: '5m' }")),
  retention: either(FLAG, object("{ every: '1h' }")),
  as: text('ann'),
  ...{ office: FLAG, watchdog: MILLIS, journal: FUNCTION, policyFor: FUNCTION },
  ...{ tx: ANYTHING, clock: ANYTHING, dice: ANYTHING },
}

/** A slip in a name would pass for the default, and events would go to another place than was meant. */
export const checkOptions = (options: unknown): void => checkNames('reprieve()', options, KNOWN)
