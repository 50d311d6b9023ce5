import { randomUUID } from 'node:crypto'
import { open } from '../../src/adapters/memory/index.ts'
import type { Board } from '../../src/contracts/board.ts'
import type { Fact } from '../../src/contracts/journal.ts'
import type { Clock, Tools } from '../../src/contracts/tools.ts'
import { Transient } from '../../src/index.ts'
import { createHand } from '../../src/office/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { createApp } from '../../src/runtime/app.ts'
import { type TestTools, testTools } from '../../src/testing/tools.ts'

const book = (crm: string) => `version: 1
policies:
  steady: { backoff: fixed, delay: 1s, jitter: none, retries: 200, window: 2h, unknownRetries: 200 }
dependencies:
  crm: { ${crm} }
defaults: { policy: steady, dependencies: [crm], timeout: 2h, concurrency: 100, window: 200 }
`

export const BREAKER = 'breaker: { failures: 3, open: 30s, probes: 1, successes: 1 }'

export interface Setting {
  readonly crm?: string
  /** The board as one process sees it, over the one in memory. */
  readonly board?: (own: Board) => Board
}

/** Calls to the dependency over all processes. */
interface Calls {
  out: number
  most: number
}

const start = async (name: string, url: string, tools: Tools, calls: Calls, setting: Setting) => {
  const facts: Fact[] = []
  const own = { ...tools, journal: (fact: Fact) => void facts.push(fact) }
  const opened = await open(url, own)
  const memory = opened.store!
  const app = createApp({
    book: readRules(book(setting.crm ?? BREAKER), 'reprieve.yaml', {}),
    transport: opened.transport!,
    store: {
      ...memory,
      letters: memory.letters!,
      audit: memory.audit!,
      board: setting.board?.(memory.board) ?? memory.board,
    },
    tools: own,
  })
  const process = { name, app, facts, up: true, calls: 0, took: 0 }
  app.service(name).on(`${name}.made`, async (_, ctx) => {
    await ctx.call('crm', async () => {
      process.calls++
      calls.out++
      calls.most = Math.max(calls.most, calls.out)
      await tools.clock.sleep(process.took)
      calls.out--
      if (!process.up) throw new Transient('crm is down')
    })
  })
  return Object.assign(process, {
    send: async (events: number) => {
      for (let n = 0; n < events; n++) await app.publish(`${name}.made`, { n })
    },
    states: () => facts.flatMap((fact) => (fact.is === 'breaker' ? [fact.to] : [])),
    done: () => facts.filter(({ is }) => is === 'done').length,
    only: (is: Fact['is']) => facts.filter((fact) => fact.is === is),
  })
}

export type Process = Awaited<ReturnType<typeof start>>

/** Several processes, each with a service of its own, that call one dependency and share one board: in real time. */
export const severalProcesses = async (count: number, setting: Setting, tools: Tools) => {
  const url = `memory:${randomUUID()}`
  const at: Calls = { out: 0, most: 0 }
  const all: Process[] = []
  for (let n = 0; n < count; n++) all.push(await start(`p${n}`, url, tools, at, setting))
  const { board } = all[0]!.app.store
  return {
    all,
    at,
    board,
    hand: createHand(board, tools.clock.now),
    more: (name: string) => start(name, url, tools, at, setting),
    total: () => all.reduce((sum, { calls }) => sum + calls, 0),
    last: () => all.map(({ states }) => states().at(-1)),
  }
}

/** The same in virtual time, started, each one known to the others. */
export const world = async (count: number, setting: Setting = {}) => {
  const tools: TestTools = testTools()
  const clock: TestTools['clock'] & Clock = tools.clock
  const several = await severalProcesses(count, setting, tools)
  for (const { app } of several.all) await clock.runUntil(app.start())
  await clock.advance(2500)
  return {
    ...several,
    clock,
    start: async (name: string) => {
      const late = await several.more(name)
      await clock.runUntil(late.app.start())
      return late
    },
    close: async () => {
      for (const { app } of several.all) await clock.runUntil(app.drain())
    },
  }
}
