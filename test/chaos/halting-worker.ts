import { writeSync } from 'node:fs'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import type { Inlet, Transport } from '../../src/contracts/transport.ts'
import { createOffice } from '../../src/office/index.ts'
import { openAppStore, openTransport } from '../../src/open.ts'
import { readRules } from '../../src/rules/index.ts'
import type { World } from './halting.ts'

/**
 * Offices of many worlds in one process, each with a store of its own. Each stands still after its nth durable step: each call
 * that changes its letters or its operations, puts parcels on the transport, or acknowledges what came by it. When all stand
 * still the process is killed by SIGKILL: one death, as many places where it strikes.
 */
const [transportUrl, book, text] = process.argv.slice(2) as [string, string, string]
const worlds = JSON.parse(text) as readonly World[]
const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
const opened = await openTransport(transportUrl, tools)
const { promise: never } = Promise.withResolvers<never>()
let moving = worlds.length

const stands = (): void => {
  if (--moving === 0) process.kill(process.pid, 'SIGKILL')
}

const play = async ({ name, store: url, halt, destinations }: World): Promise<void> => {
  let steps = 0
  let alike = 0
  let halted = false
  const step = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    if (halted) return never
    const answer = await work()
    // one that was under way beside the last is done, and tells nobody
    if (halted) return never
    writeSync(1, `${name} ${++steps} ${what}\n`)
    if (halt.of === undefined || halt.of === what) alike++
    if (alike < halt.nth) return answer
    halted = true
    stands()
    return never
  }
  /** Only what is named leaves a trace that another process finds. */
  const stepping = <T extends object>(whole: T, what: string, names: readonly (keyof T & string)[]): T => {
    const each = names.map((key) => {
      const method = whole[key] as (...asked: unknown[]) => Promise<unknown>
      return [key, (...asked: unknown[]) => step(`${what}${key}`, () => method.apply(whole, asked))]
    })
    return { ...whole, ...Object.fromEntries(each) }
  }
  const store = await openAppStore(url, tools)
  const { operations, letters } = store
  const collect: Transport['collect'] = async (from) =>
    stepping(await opened.transport.collect(from), '', ['settle' satisfies keyof Inlet])
  const office = await createOffice({
    transport: { ...stepping(opened.transport, '', ['forward']), collect },
    as: 'ann',
    tools,
    book: readRules(book, 'book.yaml'),
    store: {
      ...store,
      letters: stepping(letters, 'letters ', ['keep', 'mark']),
      operations: stepping(operations, '', ['begin', 'add', 'change', 'mark', 'take']),
    },
  })
  await office.open(destinations.map((each) => ({ name: each })))
  // one that only takes over what arrives does so for ever
  if (destinations.length > 0) return
  const { plan, start, approve, show } = office.operations
  const { operation } = await plan({}, { batch: 2, canary: 1, rate: 100 }, { reason: 'drill' })
  await start(operation.id)
  await approve(operation.id, { as: 'bob', hash: operation.hash! })
  while ((await show(operation.id)).operation.state !== 'done') await systemClock.sleep(100)
  // it stands still after the very step that ended it
  if (halted) return
  // a receipt may still be on its way to be acknowledged: nobody hears of that any more
  halted = true
  writeSync(1, `${name} through\n`)
  stands()
}

await Promise.all(worlds.map(play))
