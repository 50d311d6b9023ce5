import { systemClock } from '../../adapters/system/clock.ts'
import type { Fact } from '../../contracts/journal.ts'
import type { Destination } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import { type Options, type Reprieve, reprieve } from '../../reprieve.ts'
import { type Opened, openThoughAway } from '../away.ts'
import { type Common, openOptions } from '../options.ts'
import { checkPlaces, tellNew } from '../places.ts'
import { withoutFix } from '../print/fix.ts'
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
export const openOffice = (flags: Common): Promise<OpenOffice> =>
  openWith(flags, async (options) => ({ app: await reprieve(options) }))

/** The same for who sends nothing: without a broker it has what the store has. */
export const openLetters = (flags: Common): Promise<OpenOffice> =>
  openWith(flags, (options) => openThoughAway(flags, options))

const openWith = async (flags: Common, open: (options: Options) => Promise<Opened>): Promise<OpenOffice> => {
  await checkPlaces(flags)
  await tellNew(flags, 'holds no letters yet')
  const { app, away } = await open({ ...openOptions(flags), office: false, journal: tellRefused })
  try {
    const known = await app.knownDestinations()
    const destinations = away ? known.filter(({ foreign }) => !foreign) : known
    if (away) tellMissing(away, 'letters that still lie there are not among them')
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
  const caughtUp = app.office.catchUp(destinations, late.signal).then(
    () => 'caught up' as const,
    (error: unknown) => {
      // one destination that can't be had keeps nobody from the letters that are kept
      if (error instanceof ReprieveError) return error
      throw error
    },
  )
  const first = await Promise.race([
    caughtUp,
    systemClock.sleep(CATCH_UP, over.signal).then(() => 'late' as const),
  ])
  over.abort()
  if (first === 'late') {
    late.abort()
    remark(calmOnStderr(`not all dead letters could be taken over in ${span(CATCH_UP)}: there may be more`))
  } else if (first !== 'caught up') tellMissing(first, 'there may be more letters than are kept')
}

/** Whoever looks must not take what is here for all there is. */
const tellMissing = (why: ReprieveError, what: string): void =>
  remark(warnOnStderr(`${inert(withoutFix(why))}: ${what}${why.fix ? `; fix: ${inert(why.fix)}` : ''}`))
