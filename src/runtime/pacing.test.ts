import { expect, it } from 'vitest'
import { open } from '../adapters/memory/index.ts'
import type { Fact } from '../contracts/journal.ts'
import { readPaces } from '../core/pace.ts'
import { testTools } from '../testing/tools.ts'
import { createPacing } from './pacing.ts'

const about = (service: string) => ({ service, topic: 't', type: 't.x', event: 'e' })

it('counts what services do by the facts they leave, and tells the board now and then', async () => {
  const tools = testTools()
  const { store } = await open('memory:', tools)
  const { board } = store!
  const pacing = createPacing(tools)
  const told = async () => readPaces((await board.read('pace/'))[0]?.value)
  const tell = (...facts: readonly unknown[]) => {
    for (const fact of facts) pacing.journal({ at: tools.clock.now(), ...(fact as object) } as Fact)
  }
  await pacing.report(board, 'p1')
  tell({ is: 'done', ...about('a') }, { is: 'failed', ...about('a') }, { is: 'retry', ...about('a') })
  tell({ is: 'duplicate', ...about('b') }, { is: 'done', ...about('a') }, { is: 'started', service: 'c' })
  tell({ is: 'batch', service: 'b', timedOut: false }, { is: 'batch failed', service: 'b', timedOut: true })
  tell({ is: 'batch failed', service: 'b', critical: true })
  expect(tools.facts).toHaveLength(9)

  await pacing.report(board, 'p1')
  expect(await told()).toEqual({})
  await tools.clock.advance(15_000)
  await pacing.report(board, 'p1')
  const none = { attempts: 0, retries: 0, duplicates: 0, batches: 0, batchTimeouts: 0, criticalBatches: 0 }
  const wanted = {
    a: { ...none, attempts: 3, retries: 1 },
    b: { ...none, duplicates: 1, batches: 3, batchTimeouts: 1, criticalBatches: 1 },
  }
  expect(await told()).toEqual(wanted)

  await tools.clock.advance(15_000)
  await pacing.report(board, 'p1')
  expect((await board.read('pace/'))[0]?.version, 'nothing new, nothing written').toBe(1)
})
