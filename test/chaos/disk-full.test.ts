import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Fact } from '../../src/contracts/journal.ts'
import { later, reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { until } from '../until.ts'

const SIZE = '6m'

/** A disk so small that it can be filled. Undefined, with the reason, where we may not make one. */
const smallDisk = (): { readonly folder: string; remove(): void } | { readonly not: string } => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-small-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'tmpfs', folder], { stdio: 'pipe' })
  } catch (error) {
    rmdirSync(folder)
    return {
      not: String((error as Error).message)
        .split('\n')
        .join(' '),
    }
  }
  return {
    folder,
    remove: () => {
      execFileSync('umount', [folder])
      rmdirSync(folder)
    },
  }
}

const BOOK = `version: 1
services:
  shop: { policy: { backoff: fixed, delay: 100ms, jitter: none, retries: 3, window: 10m } }
`

const disk = smallDisk()
const why = 'not' in disk ? ` (skipped: no small disk could be made: ${disk.not})` : ''

describe.skipIf('not' in disk)(`a disk that is full${why}`, () => {
  it('refuses what it can not keep, loses nothing that it took, and goes on when there is room', async () => {
    if ('not' in disk) return
    const filler = join(disk.folder, 'filler')
    const facts: Fact[] = []
    const done = new Set<string>()
    const app = await reprieve({
      transport: `sqlite:${join(disk.folder, 'app.db')}`,
      rules: readRules(BOOK, 'reprieve.yaml', {}),
      journal: (fact) => void facts.push(fact),
    })
    try {
      let isOpen = false
      app.service('shop').on('order.placed', (event) => {
        if (!isOpen) return later('50ms')
        done.add(event.id)
        return undefined
      })
      const accepted: string[] = []
      await app.start()
      for (let n = 0; n < 50; n++)
        accepted.push(await app.publish('order.placed', { note: 'x'.repeat(1000) }))

      // full: what is published now is refused, and says so
      const room = Buffer.alloc(8 * 1024 * 1024)
      expect(() => writeFileSync(filler, room)).toThrow(/ENOSPC/)
      let refused: unknown
      for (let n = 0; n < 10_000 && !refused; n++) {
        try {
          accepted.push(await app.publish('order.placed', { note: 'x'.repeat(1000) }))
        } catch (error) {
          refused = error
        }
      }
      expect(refused).toMatchObject({ code: 'unavailable', message: expect.stringMatching(/full/) })

      // what was taken can't be settled, and stays
      await until('trouble', () => facts.some(({ is }) => is === 'trouble'))
      isOpen = true
      rmSync(filler)
      await until('the last one', () => done.size === accepted.length)
      expect([...done].sort()).toEqual([...accepted].sort())
      accepted.push(await app.publish('order.placed', { note: 'as ever' }))
      expect(facts.filter(({ is }) => is === 'dead')).toEqual([])
    } finally {
      await app.close()
      disk.remove()
    }
  })
})
