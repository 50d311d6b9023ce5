import { existsSync } from 'node:fs'
import { readUrl } from '../../adapters/sqlite/url.ts'
import { ReprieveError } from '../../core/error.ts'
import { DEFAULT_URL, type Reprieve, reprieve } from '../../reprieve.ts'
import { type Common, openOptions } from '../options.ts'

/** The app whose audit it is. A file that is not there is not made: a mistyped path would be found intact. */
export const openAudited = async (flags: Common): Promise<Reprieve> => {
  const file = fileOf(flags)
  if (file !== undefined && !existsSync(file)) {
    throw new ReprieveError('bad_url', `sqlite file '${file}': there is no such file, and so no audit`, {
      fix: 'name the store that the app uses, like --store sqlite:app.db',
    })
  }
  return await reprieve({ ...openOptions(flags), office: false })
}

const fileOf = ({ store, transport }: Common): string | undefined => {
  const url = store || (transport?.startsWith('sqlite:') ? transport : DEFAULT_URL)
  return url.startsWith('sqlite:') ? readUrl(url).path : undefined
}
