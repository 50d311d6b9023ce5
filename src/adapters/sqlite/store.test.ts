import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
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
})
