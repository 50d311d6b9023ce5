import { describe, expect, it } from 'vitest'
import { batchFor } from './batches.ts'
import { emptyBook } from './book.ts'
import { explain } from './explain.ts'
import { readRules } from './load.ts'
import { rulesFor } from './resolve.ts'
import { serviceRules } from './services.ts'
import { explainText } from './tell.ts'

const book = readRules(
  `version: 1
defaults: { concurrency: 3 }
services:
  svc:
    concurrency: 8
    batchers:
      calm: { size: 10, timeout: 1s, concurrency: 2 }
      urgent: { size: 5, timeout: 50ms, concurrency: 1, priorities: [high, critical] }
    batch: calm
    events:
      video.*: { concurrency: 2 }
      video.short: { timeout: 1s }
      video.long: { concurrency: 1 }
      odd.*: { batch: off }
      big.*: { batch: { size: 100, timeout: 10s } }
`,
  'test.yaml',
)

describe('the batch of an event', () => {
  it('goes by its priority first, then by what the nearest level says', () => {
    const of = (event: string, priority?: 'low' | 'high') => batchFor(book, 'svc', event, priority)
    expect(of('a.b')).toEqual({ name: 'calm', size: 10, timeout: 1000, concurrency: 2, by: 'none' })
    expect(of('a.b', 'low').name).toBe('calm')
    expect(of('a.b', 'high').name).toBe('urgent')
    expect(of('big.one')).toEqual({ size: 100, timeout: 10_000, concurrency: 5, by: 'none' })
    expect(of('big.one', 'high').name).toBe('urgent')
  })

  it('holds one where the book says off, and is as built in where it says nothing', () => {
    expect(batchFor(book, 'svc', 'odd.one', 'high')).toMatchObject({ size: 1 })
    expect(batchFor(emptyBook, 'svc', 'a.b', 'high')).toMatchObject({ size: 25, timeout: 2000 })
  })
})

describe('the concurrency of a row', () => {
  it('holds for the events of that row, and is not the service’s', () => {
    expect(rulesFor(book, 'svc', 'a.b')).not.toHaveProperty('concurrency')
    expect(rulesFor(book, 'other', 'a.b')).not.toHaveProperty('concurrency')
    expect(rulesFor(book, 'svc', 'video.any').concurrency).toEqual({ most: 2, row: 'video.*' })
    expect(rulesFor(book, 'svc', 'video.short').concurrency).toEqual({ most: 2, row: 'video.*' })
    expect(rulesFor(book, 'svc', 'video.long').concurrency).toEqual({ most: 1, row: 'video.long' })
    expect(serviceRules(book, 'svc').concurrency).toBe(8)
  })

  it('is explained, with its line', () => {
    const rules = rulesFor(book, 'svc', 'video.short')
    expect(explain(rules).concurrency).toBe(2)
    expect(rules.provenance.concurrency).toEqual({ file: 'test.yaml', line: 11 })
    expect(explainText(rules)).toMatch(/of its row at once +2 +test.yaml:11/)
    expect(explain(rulesFor(book, 'svc', 'a.b')).concurrency).toBeNull()
  })
})

describe('the window', () => {
  const windowOf = (service: string) =>
    serviceRules(readRules(`version: 1\nservices: { s: ${service} }`, 'test.yaml'), 's').window

  it.each([
    ['{ concurrency: 4 }', 8],
    ['{ concurrency: 4, demand: { max: 20 } }', 80],
    ['{ concurrency: 4, window: 7, demand: { max: 20 } }', 7],
    // two batches that run, and one that fills
    ['{ concurrency: 4, batch: { size: 10, concurrency: 2 } }', 30],
    ['{ concurrency: 4, batchers: { a: { size: 10, concurrency: 2 }, b: { size: 5, concurrency: 1 } } }', 40],
    ['{ concurrency: 4, demand: { max: 20 }, batch: { size: 10, concurrency: 2 } }', 80],
    ['{ batch: { size: 10000, concurrency: 10000 } }', 100_000],
  ])('of %s is %i', (service, window) => {
    expect(windowOf(service)).toBe(window)
  })
})
