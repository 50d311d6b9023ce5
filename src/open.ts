import type { Open, Opened, WhyNoAudit } from './contracts/adapter.ts'
import type { Doctor } from './contracts/doctor.ts'
import type { AppStore, Store } from './contracts/store.ts'
import type { Tools } from './contracts/tools.ts'
import type { Transport } from './contracts/transport.ts'
import { ReprieveError } from './core/error.ts'

interface Adapter {
  readonly open: Open
  readonly doctor?: Doctor
  readonly whyNoAudit?: WhyNoAudit
}

/** Which adapter a URL asks for. Adapters are loaded only then, and their client libraries with them. */
const ADAPTERS: Readonly<Record<string, () => Promise<Adapter>>> = {
  'memory:': () => import('./adapters/memory/index.ts'),
  'sqlite:': () => import('./adapters/sqlite/index.ts'),
  'amqp:': () => import('./adapters/rabbitmq/index.ts'),
  'amqps:': () => import('./adapters/rabbitmq/index.ts'),
  'kafka:': () => import('./adapters/kafka/index.ts'),
  'postgres:': () => import('./adapters/postgres/index.ts'),
  'postgresql:': () => import('./adapters/postgres/index.ts'),
  'redis:': () => import('./adapters/redis/index.ts'),
  'rediss:': () => import('./adapters/redis/index.ts'),
}

export const openUrl = async (url: string, tools: Tools): Promise<Opened> =>
  (await adapterFor(url)).open(url, tools)

/** Who can say what is wrong there, if anybody can; nothing is opened. */
export const doctorFor = async (url: string): Promise<Doctor | undefined> => (await adapterFor(url)).doctor

/** Why there is no audit at this URL, and so nothing of ours; nothing is opened or made. */
export const whyNoAudit: WhyNoAudit = async (url, tools) => (await adapterFor(url)).whyNoAudit?.(url, tools)

/** The app's own store, to read its audit. One that is not there yet is refused, and not made. */
export const openAudited = async (url: string, tools: Tools): Promise<AppStore> => {
  const missing = await whyNoAudit(url, tools)
  if (missing?.is === 'unfit') throw missing.error
  if (missing) throw new ReprieveError('bad_url', `${missing.what}, and so no audit`, { fix: missing.fix })
  return openAppStore(url, tools)
}

const adapterFor = async (url: string): Promise<Adapter> => {
  const scheme = /^[a-z][a-z0-9+]*:/i.exec(url)?.[0].toLowerCase()
  const load = scheme === undefined ? undefined : ADAPTERS[scheme]
  if (!load) {
    throw new ReprieveError('bad_url', `no adapter opens '${withoutSecret(url)}'`, {
      fix: 'use one of memory:, sqlite:app.db, postgres://host/db, amqp://host, kafka://host:9092, and for ledgers redis://host',
    })
  }
  return load()
}

/** For what must carry events. Its store comes along where it has one. */
export const openTransport = async (
  url: string,
  tools: Tools,
): Promise<Opened & { readonly transport: Transport }> => {
  const { transport, ...rest } = await openUrl(url, tools)
  if (transport) return { ...rest, transport }
  await rest.store?.close()
  throw new ReprieveError('bad_url', `'${withoutSecret(url)}' can't serve as a transport`, {
    fix: 'use sqlite:app.db, postgres://host/db, amqp://host or kafka://host:9092, or memory: for a trial',
  })
}

/** For what must keep a ledger and a board. */
export const openStore = async (url: string, tools: Tools): Promise<Store> => {
  const { transport, store } = await openUrl(url, tools)
  if (store) return store
  await transport?.close()
  throw new ReprieveError('bad_url', `'${withoutSecret(url)}' can't serve as a store`, {
    fix: 'use sqlite:app.db, postgres://host/db or redis://host, or memory: for a trial',
  })
}

/** For what must be an app's own store, and keep its dead letters. */
export const openAppStore = async (url: string, tools: Tools): Promise<AppStore> => {
  const store = await openStore(url, tools)
  const { letters, audit, operations } = store
  if (letters && audit && operations) {
    try {
      await store.ready?.()
    } catch (error) {
      await store.close()
      throw error
    }
    return { ...store, letters, audit, operations }
  }
  await store.close()
  const name = store.name
  throw new ReprieveError(
    'bad_url',
    `'${withoutSecret(url)}' can't be the app's own store: ${name} keeps a ledger and a board here, no dead letters`,
    {
      fix: `use sqlite:app.db or postgres://host/db for that, and name this one for its ledger in the rule book: stores: { ${name}: … }, idempotency: { store: ${name} }`,
    },
  )
}

/** A URL as it may be shown. To the last @, for a password may hold one, or a slash, though it should not; slashes may be forgotten. */
export const withoutSecret = (url: string): string =>
  /^sqlite:/i.test(url) ? url : url.replace(/^(\s*[a-z][\w+.-]*:\/{0,2})?.*@/is, '$1***@')
