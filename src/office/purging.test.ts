import { expect, it } from 'vitest'
import { open } from '../adapters/memory/index.ts'
import type { AppStore } from '../contracts/store.ts'
import type { Transport } from '../contracts/transport.ts'
import { sampleLetters } from '../testing/letters.ts'
import { testTools } from '../testing/tools.ts'
import { createOffice } from './index.ts'

/** An office with one letter that holds its order key, a purge of it, and something that happens before its n-th mark. */
const purging = async (before: number) => {
  const tools = testTools()
  const { transport, store } = await open('memory:', tools)
  const freed: string[] = []
  const watched: Transport = {
    ...transport,
    behind: async (_, keys) => keys.map(() => 1),
    release: async (_, keys) => void freed.push(...keys.map(({ letter }) => letter)),
  }
  let marks = 0
  let interrupt: () => Promise<unknown> = async () => undefined
  const operations: AppStore['operations'] = {
    ...store.operations!,
    mark: async (...mark) => {
      if (++marks === before) await interrupt()
      return store.operations!.mark(...mark)
    },
  }
  const office = await createOffice({
    ...{ transport: watched, tools },
    store: { ...(store as AppStore), operations },
  })
  const [sample] = sampleLetters(1, tools.clock.now())
  const { event } = sample!
  const letter = { ...sample!, event: { ...event, extensions: { ...event.extensions, orderkey: 'a' } } }
  await store.letters!.keep([letter])
  const { operation } = await office.operations.plan({}, { kind: 'purge' }, { reason: 'test data' })
  const { id } = operation
  interrupt = () => office.operations.pause(id)
  await office.operations.start(id)
  await office.operations.work(id)
  const state = async () => (await store.letters!.find({ ids: [letter.id] }, 1))[0]?.state
  return { office, id, letter, freed, state, store }
}

it('a purge that is paused before it gave a letter up lets nothing past it', async () => {
  const { office, id, letter, freed, state } = await purging(1)
  expect([await state(), freed]).toEqual(['open', []])
  expect((await office.operations.show(id)).operation.paused).toBeDefined()
  await office.operations.resume(id)
  await office.operations.work(id)
  expect([await state(), freed]).toEqual([undefined, [letter.id]])
})

it('a purge that is paused after that leaves the letter given up, and goes on with it', async () => {
  const { office, id, letter, freed, state, store } = await purging(2)
  expect([await state(), freed]).toEqual(['discarded', [letter.id]])
  const acts = async () => (await store.audit!.recent(9)).map(({ act }) => act)
  expect(await acts()).toContain('discard')
  expect((await office.operations.show(id)).counts).toMatchObject({ waiting: 1, purged: 0 })
  await office.operations.resume(id)
  const done = await office.operations.work(id)
  expect(done).toMatchObject({ operation: { state: 'done' }, counts: { waiting: 0, purged: 1 } })
  expect(await state()).toBeUndefined()
  expect((await acts())[0]).toBe('purge')
})
