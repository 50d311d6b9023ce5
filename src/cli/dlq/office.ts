import { systemClock } from '../../adapters/system/clock.ts'
import { systemDice } from '../../adapters/system/dice.ts'
import type { Fact } from '../../contracts/journal.ts'
import type { Destination } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import { whyNoAudit } from '../../open.ts'
import { type Reprieve, reprieve } from '../../reprieve.ts'
import { type Common, openOptions, storeUrl } from '../options.ts'
import { inert } from '../print/inert.ts'
import { calmOnStderr, warnOnStderr } from '../print/paint.ts'
import { remark, wantsJson } from '../print/say.ts'
import { span } from '../print/time.ts'

/** How long a command looks for letters that still lie on the broker before it shows those it has. */
const CATCH_UP = 10_000

export interface OpenOffice extends AsyncDisposable {
  readonly app: Reprieve
  readonly destinations: readonly Destination[]
}

/** The office, with what lay at the destinations taken over. No service is started. */
export const openOffice = async (flags: Common): Promise<OpenOffice> => {
  await tellNew(flags)
  const app = await reprieve({ ...openOptions(flags), office: false, journal: tellRefused })
  try {
    const destinations = await app.knownDestinations()
    await catchUp(app, destinations)
    return { app, destinations, [Symbol.asyncDispose]: () => app.close() }
  } catch (error) {
    await app.close()
    throw error
  }
}

/** A letter that could not be kept is not among those that are shown. */
const tellRefused = (fact: Fact): void => {
  if (fact.is !== 'trouble' || !fact.about || wantsJson()) return
  remark(warnOnStderr(`${fact.where}: ${inert(fact.error.message)}`))
}

/** Looking must not make tables in a file that is someone else's. A schema of PostgreSQL is ours by its name. */
const THEIRS = /^sqlite file .*: it has no tables of ours, and so no audit$/s

/** In the wrong folder, or with a slip in the name, there are no dead letters: that must not pass for good news. */
const tellNew = async (flags: Common): Promise<void> => {
  const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
  // what is wrong with the place is told by who opens it
  const missing = await whyNoAudit(storeUrl(flags), tools).catch(() => undefined)
  if (!missing) return
  const [what] = missing.message.split('\n')
  if (THEIRS.test(what!)) {
    throw new ReprieveError('bad_url', `${what!.replace(/, and so no audit$/, '')}, only those of others`, {
      fix: 'name the store that the app uses, like --store sqlite:app.db; where it is to be this file, start the app on it first',
    })
  }
  if (wantsJson()) return
  if (!/, and so no audit$/.test(what!)) return // nothing can be made of that either: it is refused in a moment
  remark(warnOnStderr(`${what!.replace(/, and so no audit$/, '')}: it is made now, and holds no letters yet`))
}

const catchUp = async (app: Reprieve, destinations: readonly Destination[]): Promise<void> => {
  const late = new AbortController()
  const over = new AbortController()
  const caughtUp = app.office.catchUp(destinations, late.signal).then(() => 'caught up' as const)
  const first = await Promise.race([
    caughtUp,
    systemClock.sleep(CATCH_UP, over.signal).then(() => 'late' as const),
  ])
  over.abort()
  if (first === 'caught up') return
  late.abort()
  caughtUp.catch(() => {}) // said in the next line already
  remark(calmOnStderr(`not all dead letters could be taken over in ${span(CATCH_UP)}: there may be more`))
}
