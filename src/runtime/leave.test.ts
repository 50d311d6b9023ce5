import { expect, it } from 'vitest'
import { open } from '../adapters/memory/index.ts'
import type { AppStore } from '../contracts/store.ts'
import type { Transport } from '../contracts/transport.ts'
import { emptyBook } from '../rules/index.ts'
import { testTools } from '../testing/tools.ts'
import { createApp } from './app.ts'

/** A transport whose first inlet can't be closed; it tells which topics were. */
const stubborn = (transport: Transport, closed: string[]): Transport => ({
  ...transport,
  subscribe: async (to) => {
    const inlet = await transport.subscribe(to)
    return {
      ...inlet,
      close: async () => {
        if (to.topic === 'a.first') throw new Error('the connection is gone')
        closed.push(to.topic)
        await inlet.close()
      },
    }
  },
})

it('leaves though one of its inlets can not be closed, closes the others and says so', async () => {
  const tools = testTools()
  const { transport, store } = await open('memory:', tools)
  const closed: string[] = []
  const app = createApp({
    book: emptyBook,
    transport: stubborn(transport!, closed),
    store: store as AppStore,
    tools,
  })
  app
    .service('svc')
    .on('a.first', () => {})
    .on('b.second', () => {})
  await tools.clock.runUntil(app.start())
  await tools.clock.runUntil(app.drain())
  expect(closed).toEqual(['b.second'])
  expect(tools.facts.map(({ is }) => is)).toContain('drained')
  expect(tools.facts).toContainEqual(
    expect.objectContaining({ is: 'trouble', where: 'closing an inlet of svc' }),
  )
})

it('leaves a broker that never answers a settlement, soon after its time is over, and what was out comes again', async () => {
  const tools = testTools()
  const { transport, store } = await open('memory:', tools)
  let deaf = true
  const silent: Transport = {
    ...transport!,
    subscribe: async (to) => {
      const inlet = await transport!.subscribe(to)
      return { ...inlet, settle: (batch) => (deaf ? new Promise(() => {}) : inlet.settle(batch)) }
    },
  }
  const started = async () => {
    const app = createApp({ book: emptyBook, transport: silent, store: store as AppStore, tools })
    app.service('svc').on('a.first', (event) => void seen.push(event.id))
    await tools.clock.runUntil(app.start())
    return app
  }
  const seen: string[] = []
  const app = await started()
  const id = await tools.clock.runUntil(app.publish('a.first', {}))
  await tools.clock.advance(100)
  expect(seen).toEqual([id])
  const began = tools.clock.now()
  await tools.clock.runUntil(app.drain(1000))
  expect(tools.clock.now() - began).toBeLessThanOrEqual(7000)

  deaf = false
  const again = await started()
  await tools.clock.advance(120_000)
  expect(seen).toEqual([id, id])
  await tools.clock.runUntil(again.drain())
})
