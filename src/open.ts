import type { Open, Opened } from './contracts/adapter.ts'
import type { Tools } from './contracts/tools.ts'
import { ReprieveError } from './core/error.ts'

/** Which adapter a URL asks for. Adapters are loaded only then, and their client libraries with them. */
const ADAPTERS: Readonly<Record<string, () => Promise<{ open: Open }>>> = {
  'memory:': () => import('./adapters/memory/index.ts'),
  'sqlite:': () => import('./adapters/sqlite/index.ts'),
  'amqp:': () => import('./adapters/rabbitmq/index.ts'),
  'amqps:': () => import('./adapters/rabbitmq/index.ts'),
  'kafka:': () => import('./adapters/kafka/index.ts'),
}

export const openUrl = async (url: string, tools: Tools): Promise<Opened> => {
  const scheme = /^[a-z][a-z0-9+]*:/i.exec(url)?.[0].toLowerCase()
  const load = scheme === undefined ? undefined : ADAPTERS[scheme]
  if (!load) {
    throw new ReprieveError('bad_url', `no adapter opens '${withoutSecret(url)}'`, {
      fix: 'use one of memory:, sqlite:app.db, amqp://host, kafka://host:9092',
    })
  }
  const { open } = await load()
  return open(url, tools)
}

/** A URL as it may be shown. */
export const withoutSecret = (url: string): string => url.replace(/\/\/[^/@]*@/, '//***@')
