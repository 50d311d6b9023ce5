import { ReprieveError } from '../core/error.ts'
import { type Options, type Reprieve, reprieve } from '../reprieve.ts'
import { type Common, storeUrl } from './options.ts'

export interface Opened {
  readonly app: Reprieve
  /** Why no broker is there. */
  readonly away?: ReprieveError
}

/**
 * For who looks at what the store has, or gives orders by it: a broker that does not answer must not keep him from it, for
 * then he needs it most. Where it is the store that does not answer, that is what is said.
 */
export const openThoughAway = async (flags: Common, options: Options): Promise<Opened> => {
  try {
    return { app: await reprieve(options) }
  } catch (error) {
    const store = storeUrl(flags)
    const isAway = error instanceof ReprieveError && error.code === 'unavailable'
    if (!isAway || store === flags.transport) throw error
    return { app: await reprieve({ ...options, transport: store }), away: error }
  }
}
