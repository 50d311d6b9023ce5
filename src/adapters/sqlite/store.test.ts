import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { sampleLetters } from '../../testing/letters.ts'
import { testTools } from '../../testing/tools.ts'
import { countsOf, open } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-store-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the store', () => {
  it('after the last close says that it is closed, and does not open the file again', async () => {
    const { transport, store } = await open(`sqlite:${join(folder, 'closed.db')}`, testTools())
    await store!.close()
    await store!.close()
    await store!.board.post('still', 'open: the transport is', 1000)
    await transport.close()
    await expect(store!.board.post('a', 1, 1)).rejects.toMatchObject({ code: 'closed' })
    await expect(store!.letters.count({})).rejects.toMatchObject({ code: 'closed' })
  })

  it('counts only what this adapter opened', async () => {
    const opened = await open(`sqlite:${join(folder, 'counts.db')}`, testTools())
    expect(countsOf(opened)).toEqual({ commits: 0, jobs: 0, rows: 0 })
    expect(() => countsOf({ ...opened })).toThrow('not opened by the sqlite adapter')
  })
  it('does not take a letter for held that came in the place of one that was purged', async () => {
    const tools = testTools()
    const { transport, store } = await open(`sqlite:${join(folder, 'purged.db')}`, tools)
    const { letters, operations } = store
    const [first, second] = sampleLetters(2, tools.clock.now())
    const plan = { batch: 50, although: [] }
    const begin = (id: string) =>
      operations.begin({
        ...{ id, kind: 'purge', state: 'freezing', since: 0, by: 'ann', at: 0, chosen: {}, plan },
      })
    const item = { place: 1, state: 'waiting', at: 5 } as const
    await letters.keep([first!])
    const { version } = await begin('purge')
    await operations.add('purge', version, [{ ...item, letter: first!.id }])
    const gone = { from: ['open'], to: 'removed' } as const
    expect(
      await operations.mark('purge', undefined, [
        { place: 1, from: ['waiting'], to: 'purged', at: 6, letter: gone },
      ]),
    ).toEqual([true])
    await letters.keep([second!])
    await operations.add('next', (await begin('next')).version, [{ ...item, letter: second!.id }])
    expect(await operations.items('next', undefined, 9)).toEqual([{ ...item, letter: second!.id }])
    await transport.close()
    await store.close()
  })
})
