import { describe, expect, it } from 'vitest'
import { Permanent } from '../core/errors.ts'
import { testApp } from './app.ts'

const TYPE = 'stock.moved'
const yaml = 'version: 1\ndefaults: { order: key, afterDeath: hold, policy: standard }'

/** The first of key a dies until it is mended. */
const stockOf = async () => {
  const app = await testApp({ yaml })
  const done: string[] = []
  const state = { mended: false }
  app.service('stock').on(TYPE, ({ data }: { data: string }) => {
    if (data === 'a1' && !state.mended) throw new Permanent('no such place')
    done.push(data)
  })
  const publish = (...names: readonly string[]) =>
    Promise.all(names.map((name) => app.publish(TYPE, name, { orderKey: name[0]! })))
  return { app, done, state, publish }
}

describe('an app in virtual time with a key that is held', () => {
  it('is settled though followers of the dead wait, and they go on after a replay that ends well', async () => {
    const { app, done, state, publish } = await stockOf()
    await publish('a1', 'a2', 'b1', 'a3')
    await app.settled()
    expect(done).toEqual(['b1'])
    const [letter] = app.dead()
    expect(await app.office.behind(letter!)).toBe(2)

    await app.office.replay({ ids: [letter!.id] })
    await app.settled()
    expect(app.dead()).toHaveLength(2)
    expect(done).toEqual(['b1'])

    state.mended = true
    const again = app.dead()[1]!
    await app.office.replay({ ids: [again.id] })
    await app.office.replay({ ids: [again.id] })
    await app.settled()
    expect(done).toEqual(['b1', 'a1', 'a2', 'a3'])
    expect(await app.office.count({ states: ['open', 'replaying'] })).toBe(0)
    await app.close()
  })

  it('goes on after the letter was discarded', async () => {
    const { app, done, publish } = await stockOf()
    await publish('a1', 'a2')
    await app.settled()
    await app.office.discard([app.dead()[0]!.id])
    await publish('a3')
    await app.settled()
    expect(done).toEqual(['a2', 'a3'])
    await app.close()
  })
})
