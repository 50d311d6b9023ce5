import { describe } from 'vitest'
import { virtualWorld } from '../../src/testing/trials/index.ts'
import { adapterOf, trialSuite } from './suite.ts'

describe('memory', async () => {
  await trialSuite('memory', virtualWorld(await adapterOf('memory'), 'memory:trials'))
})
