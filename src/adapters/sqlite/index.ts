import type { Open, Opened } from '../../contracts/adapter.ts'
import type { AppStore } from '../../contracts/store.ts'
import { ReprieveError } from '../../core/error.ts'
import { auditOf } from './audit.ts'
import { boardOf } from './board.ts'
import { ledgerOf } from './ledger.ts'
import { lettersOf } from './letters.ts'
import { operationsOf } from './operations.ts'
import { txOf } from './outbox.ts'
import { enter } from './room.ts'
import { transportOf } from './transport.ts'
import { readUrl } from './url.ts'
import type { Counts, Writer } from './writer.ts'

export { doctor } from './doctor.ts'
export { whyNoAudit } from './there.ts'
export type { Counts } from './writer.ts'

const writers = new WeakMap<Opened, Writer>()

/** Transport and store over one file. The file is closed with the last of them. */
export const open = (async (url, tools) => {
  const place = readUrl(url)
  const { leave, ...room } = await enter(place, tools)
  let users = 2
  const left = async (): Promise<void> => {
    if (--users === 0) await leave()
  }
  const { file, writer } = room
  const transport = transportOf(room, left)
  let closing: Promise<void> | undefined
  const store: AppStore = {
    name: 'sqlite',
    ledger: ledgerOf(file, writer, tools),
    board: boardOf(file, writer, tools),
    letters: lettersOf(file, writer, tools.clock),
    audit: auditOf(file, writer, tools),
    operations: operationsOf(file, writer),
    companion: transport,
    tx: txOf(room),
    close: () => {
      closing ??= left()
      return closing
    },
  }
  const opened = { transport, store }
  writers.set(opened, writer)
  return opened
}) satisfies Open

/** How many commits and rows the file's writer in this process has made: for benches and tests. */
export const countsOf = (opened: Opened): Counts => {
  const writer = writers.get(opened)
  if (!writer) throw new ReprieveError('bad_usage', 'this was not opened by the sqlite adapter')
  return writer.counts()
}
