import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { virtualWorld } from '../../src/testing/trials/index.ts'
import { adapterOf, trialSuite } from './suite.ts'

describe('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-trials-'))
  // Hooks of one suite run in reverse: this one is the last.
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  await trialSuite('sqlite', virtualWorld(await adapterOf('sqlite'), `sqlite:${join(folder, 'trials.db')}`))
})
