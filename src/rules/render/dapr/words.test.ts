import { describe, expect, it } from 'vitest'
import { goDuration, resourceName } from './words.ts'

describe('names and lengths for Dapr', () => {
  it('Go knows no days', () => {
    expect([1, 1500, 2000, 86_400_000].map(goDuration)).toEqual(['1ms', '1500ms', '2s', '86400s'])
  })

  it('names stay apart', () => {
    expect(resourceName('mail-svc', 'todo.tasks')).toBe('mail-svc-todo.tasks')
    const names = ['a_b', 'a-b', 'A-b', '_', 'a..b', 'a.-b', 'x'.repeat(300)].map((each) =>
      resourceName(each),
    )
    expect(new Set(names).size).toBe(names.length)
    for (const name of names)
      expect(name).toMatch(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/)
  })
})
