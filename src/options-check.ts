import { ReprieveError } from './core/error.ts'
import { nearest } from './rules/problem.ts'

type Kind = 'text' | 'any'

/** What `reprieve` takes: what is text is looked at here, the rest by whoever uses it. */
const KNOWN: Readonly<Record<string, Kind>> = {
  ...{ transport: 'text', store: 'text', board: 'text' },
  ...{ rules: 'any', policyFor: 'any', tx: 'any', office: 'any', recovery: 'any', retention: 'any' },
  ...{ as: 'any', journal: 'any', watchdog: 'any', clock: 'any', dice: 'any' },
}

/** A slip in a name would pass for the default, and events would go to another place than was meant. */
export const checkOptions = (options: unknown): void => {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new ReprieveError('bad_usage', 'the options of reprieve() are no object', {
      fix: "write reprieve({ transport: 'sqlite:app.db' }), or leave them out",
    })
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(KNOWN, name)) {
      const meant = nearest(name, Object.keys(KNOWN))
      if (meant === undefined) continue // of whoever keeps more in the same object
      throw new ReprieveError('bad_usage', `reprieve() has no option '${name}'`, {
        fix: `did you mean '${meant}'?`,
      })
    }
    if (KNOWN[name] === 'text' && value !== undefined && typeof value !== 'string') {
      throw new ReprieveError('bad_usage', `the option '${name}' of reprieve() is no text`, {
        fix: `give it a URL, like ${name}: 'sqlite:app.db'`,
      })
    }
  }
}
