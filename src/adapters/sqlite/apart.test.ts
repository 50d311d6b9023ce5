import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runTrials, virtualWorld } from '../../testing/trials/index.ts'
import { open } from './index.ts'

it('passes the trials too where every connection has a writer of its own, as other processes have', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-apart-'))
  const url = `sqlite:${join(folder, 'trials.db')}`
  const world = virtualWorld(open, url)
  // One clock object, one writer: with a copy of it each connection stands alone.
  const apart = () => open(url, { ...world.tools, clock: { ...world.tools.clock } })
  const results = await runTrials({ ...world, open: apart })
  rmSync(folder, { recursive: true, force: true })
  expect(results.filter(({ is }) => is === 'failed')).toEqual([])
  expect(results.filter(({ is }) => is === 'passed').length).toBeGreaterThan(100)
})
