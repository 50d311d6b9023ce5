import { writeSync } from 'node:fs'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import { createOffice } from '../../src/office/index.ts'
import { openAppStore, openTransport } from '../../src/open.ts'

/**
 * Plans a replay or a purge, begins it and works it off, and dies by SIGKILL right after its nth durable step: each call that
 * changes the store's operations or puts parcels on the transport is one.
 */
const [transportUrl, storeUrl, service, kind, nth] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
]
/** It stands still: who takes long says again that he is at it, and on a slow machine that would be a step more. */
const began = systemClock.now()
const clock = { ...systemClock, now: () => began }
const tools = { clock, dice: systemDice(), journal: () => {} }
let steps = 0

const after = async <T>(name: string, step: Promise<T>): Promise<T> => {
  const answer = await step
  writeSync(1, `${++steps} ${name}\n`)
  if (steps === Number(nth)) process.kill(process.pid, 'SIGKILL')
  return answer
}

const opened = await openTransport(transportUrl, tools)
const own = opened.store
const store =
  own?.letters && own.audit && own.operations && storeUrl === transportUrl
    ? { ...own, letters: own.letters, audit: own.audit, operations: own.operations }
    : await openAppStore(storeUrl, tools)
const { operations } = store
const transport: typeof opened.transport = {
  ...opened.transport,
  forward: (...asked) => after('forward', opened.transport.forward(...asked)),
}
const office = await createOffice({
  transport,
  as: 'worker',
  tools,
  store: {
    ...store,
    operations: {
      ...operations,
      begin: (...asked) => after('begin', operations.begin(...asked)),
      add: (...asked) => after('add', operations.add(...asked)),
      change: (...asked) => after('change', operations.change(...asked)),
      mark: (...asked) => after('mark', operations.mark(...asked)),
      take: (...asked) => after('take', operations.take(...asked)),
    },
  },
})
const { operation } = await office.operations.plan(
  { service },
  { kind: kind as 'replay' | 'purge', batch: 2 },
  { reason: 'chaos' },
)
await office.operations.start(operation.id)
await office.operations.work(operation.id)
writeSync(1, 'through\n')
await office.close()
await transport.close()
await store.companion?.close()
await store.close()
