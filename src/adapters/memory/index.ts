import type { Open } from '../../contracts/adapter.ts'
import type { Act } from '../../core/audit.ts'
import { ReprieveError } from '../../core/error.ts'
import { appendTo, auditOf } from './audit.ts'
import { boardOf } from './board.ts'
import { ledgerOf } from './ledger.ts'
import { lettersOf } from './letters.ts'
import { operationsOf } from './operations.ts'
import { openTransport } from './transport.ts'
import { worldOf } from './world.ts'

export { doctor } from './doctor.ts'

/** `memory:` is a world of its own; `memory:name` is the same one, as often as this process opens it. */
export const open = (async (url, tools) => {
  const name = /^memory:(?:\/\/)?(.*)$/.exec(url)?.[1]
  if (name === undefined) {
    throw new ReprieveError('bad_url', `'${url.split(':')[0]}:' is no memory URL`, {
      fix: 'write memory: or memory:<name>',
    })
  }
  const world = worldOf(name)
  const { now } = tools.clock
  const transport = openTransport(world, tools)
  const board = boardOf(world, now)
  const append = (act: Act) => appendTo(world.audit, act)
  return {
    transport,
    store: {
      name: 'memory',
      ledger: ledgerOf(world.rows, now),
      board,
      letters: lettersOf(world.letters, world.groups, world.deaths, append, world.operations),
      operations: operationsOf(world.operations, world.letters, world.groups, append),
      audit: auditOf(world.audit, board),
      companion: transport,
      close: async () => undefined,
    },
  }
}) satisfies Open
