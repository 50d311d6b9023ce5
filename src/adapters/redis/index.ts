import type { Open } from '../../contracts/adapter.ts'
import type { Store } from '../../contracts/store.ts'
import { boardOf } from './board.ts'
import { loadDriver } from './client.ts'
import { ledgerOf } from './ledger.ts'
import { openLink } from './link.ts'
import { checkServer } from './server.ts'
import { readUrl } from './settings.ts'

export { doctor } from './doctor.ts'

/** `redis://host`: a ledger and a board for any number of hosts; no transport, no letters. */
export const open = (async (url, tools) => {
  const settings = readUrl(url)
  const link = openLink(await loadDriver(), settings, tools)
  try {
    await checkServer(link, tools)
  } catch (error) {
    await link.close()
    throw error
  }
  const { prefix } = settings
  const store: Store = {
    name: 'redis',
    ledger: ledgerOf(link, prefix, tools),
    board: boardOf(link, prefix, tools),
    close: () => link.close(),
  }
  return { store }
}) satisfies Open
