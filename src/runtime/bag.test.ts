import { describe, expect, it } from 'vitest'
import { createBag } from './bag.ts'

const filled = (...values: string[]) => {
  const bag = createBag<string>()
  return { bag, out: values.map((value) => bag.add(value)) }
}

describe('a bag', () => {
  it('gives up exactly what is taken out, whatever the order', () => {
    const { bag, out } = filled('a', 'b', 'c', 'd')
    out[1]!()
    expect([...bag.values()].sort()).toEqual(['a', 'c', 'd'])
    out[3]!()
    out[0]!()
    expect(bag.values()).toEqual(['c'])
    out[2]!()
    expect(bag.size).toBe(0)
  })

  it('takes nothing out twice', () => {
    const { bag, out } = filled('a', 'b')
    out[0]!()
    bag.add('c')
    out[0]!()
    expect([...bag.values()].sort()).toEqual(['b', 'c'])
  })

  it('holds equal things apart', () => {
    const { bag, out } = filled('a', 'a')
    out[0]!()
    expect(bag.values()).toEqual(['a'])
  })

  it('may be emptied while its values are looked through', () => {
    const { bag, out } = filled('a', 'b', 'c')
    const seen = bag.values().map((value, i) => {
      out[i]!()
      return value
    })
    expect(seen).toEqual(['a', 'b', 'c'])
    expect(bag.size).toBe(0)
  })
})
