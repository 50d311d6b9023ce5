import type { Ledger } from './contracts/ledger.ts'
import type { Store } from './contracts/store.ts'
import type { Tools } from './contracts/tools.ts'
import { openStore } from './open.ts'
import { type RuleBook, storesFor } from './rules/index.ts'

/** The stores that a rule book names beside the app's own. */
export interface NamedStores {
  /**
   * Opens those that the rules of these services may choose, and answers with their ledgers. A name without a URL, or
   * with the URL of the app's own store, is served by that one and is not among them.
   */
  ledgersFor(services: readonly string[]): Promise<ReadonlyMap<string, Ledger>>
  close(): Promise<void>
}

export const namedStores = (book: RuleBook, own: string, tools: Tools): NamedStores => {
  const { clock, journal } = tools
  const opened = new Map<string, Store>()

  const open = async (name: string): Promise<void> => {
    const url = book.stores.get(name)
    if (url === undefined) {
      const text = `the rules name the store '${name}', which has no URL: the app's own store keeps its ledger`
      journal({ at: clock.now(), is: 'notice', text })
    } else if (url !== own) opened.set(name, await openStore(url, tools))
  }

  return {
    ledgersFor: async (services) => {
      const names = new Set(services.flatMap((service) => storesFor(book, service)))
      for (const name of names) if (!opened.has(name)) await open(name)
      return new Map([...opened].map(([name, { ledger }]) => [name, ledger]))
    },
    close: async () => {
      for (const store of opened.values()) {
        await store.companion?.close()
        await store.close()
      }
      opened.clear()
    },
  }
}
