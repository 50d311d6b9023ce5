import { PATIENCE } from '../patience.ts'
import { orderTest } from './run.ts'
import { told } from './told.ts'

const WORKERS_KILLED = { events: 2000, keys: 50, kills: 2, patience: PATIENCE, ofWorkers: true }

/** Workers are killed; each key's effects happened in the order in which its events were published, and none is missing. */
export const keepsOrder = (transport: string, store?: string) => () =>
  told(`a worker killed, ${schemeOf(transport)} and ${schemeOf(store ?? 'sqlite')}`, WORKERS_KILLED, (run) =>
    orderTest({ ...run, transport, ...(store !== undefined && { store }) }),
  )

const schemeOf = (url: string): string => url.split(':')[0]!
