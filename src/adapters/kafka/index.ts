import type { Open } from '../../contracts/adapter.ts'
import { loadClient } from './client.ts'
import { readUrl } from './settings.ts'
import { kafkaTransport } from './transport.ts'
import { openWire } from './wire.ts'

export { doctor } from './doctor.ts'

/** `kafka://host:port[,host:port]`: a transport, no store. */
export const open = (async (url, tools) => {
  const settings = readUrl(url, process.env)
  const wire = await openWire(await loadClient(), settings, tools)
  return { transport: kafkaTransport(wire) }
}) satisfies Open
