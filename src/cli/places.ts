import { systemClock } from '../adapters/system/clock.ts'
import { systemDice } from '../adapters/system/dice.ts'
import type { NoAudit } from '../contracts/adapter.ts'
import { ReprieveError } from '../core/error.ts'
import { whyNoAudit } from '../open.ts'
import { DEFAULT_URL } from '../reprieve.ts'
import { type Common, storeUrl } from './options.ts'
import { warnOnStderr } from './print/paint.ts'
import { remark, wantsJson } from './print/say.ts'

/**
 * Who looks, orders or publishes makes no tables in a SQLite file that is someone else's: it is most likely the wrong one, and
 * where it is not, the app has not run there yet, and nothing hears what is said. A schema of PostgreSQL is ours by its name.
 */
export const checkPlaces = async (flags: Common): Promise<void> => {
  const { transport = DEFAULT_URL, board } = flags
  for (const url of new Set([storeUrl(flags), transport, board])) {
    if (!url?.startsWith('sqlite:')) continue
    const found = await lookAt(url)
    if (found?.is !== 'theirs') continue
    throw new ReprieveError('bad_url', `${found.what}, only those of others`, {
      fix: 'name the file that the app uses, like --transport sqlite:app.db; where it is to be this one, start the app on it first',
    })
  }
}

/** In the wrong folder, or with a slip in the name, there is nothing: that must not pass for good news. */
export const tellNew = async (flags: Common, so: string): Promise<void> => {
  if (wantsJson()) return
  const found = await lookAt(storeUrl(flags))
  if (found?.is === 'new') remark(warnOnStderr(`${found.what}: it is made now, and ${so}`))
}

/** Of a SQLite file that is not there, or empty: what is so. It is not made. */
export const whatIsNew = async (url: string): Promise<string | undefined> => {
  const found = url.startsWith('sqlite:') ? await lookAt(url) : undefined
  return found?.is === 'new' ? found.what : undefined
}

const lookAt = (url: string): Promise<NoAudit | undefined> => {
  const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
  // what is wrong with the place is told by who opens it
  return whyNoAudit(url, tools).catch(() => undefined)
}
