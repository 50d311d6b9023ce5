import { systemClock } from '../../adapters/system/clock.ts'
import type { Fact } from '../../contracts/journal.ts'
import type { Destination } from '../../contracts/transport.ts'
import { type Reprieve, reprieve } from '../../reprieve.ts'
import { type Common, openOptions } from '../options.ts'
import { checkPlaces, tellNew } from '../places.ts'
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
  await checkPlaces(flags)
  await tellNew(flags, 'holds no letters yet')
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
