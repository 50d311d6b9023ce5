import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fillIn } from './environment.ts'

const env = { HOST: 'db', EMPTY: '', NESTED: '$' + '{HOST}' }
const dollar = (text: string) => text.replaceAll('§', '$')

describe('placeholders', () => {
  it.each([
    ['§{HOST}', 'db'],
    ['pg://§{HOST}:§{PORT:-5432}/x', 'pg://db:5432/x'],
    ['§{EMPTY}', ''],
    ['§{EMPTY:-full}', 'full'],
    ['§{NONE:-}', ''],
    ['§{HOST:?say where}', 'db'],
    ['§§{HOST}', '§{HOST}'],
    ['§{NESTED}', '§{HOST}'],
    ['§HOST {HOST} 5§', '§HOST {HOST} 5§'],
  ])('%s becomes %s', (text, filled) => {
    expect(fillIn(dollar(text), env)).toEqual({ text: dollar(filled) })
  })

  it.each([
    ['§{NONE}', /NONE is not set/, /a value for NONE/],
    ['§{NONE:?say where it is}', /NONE is not set/, /^say where it is$/],
    ['§{EMPTY:?needed}', /EMPTY is empty/, /^needed$/],
    ['§{', /not complete/, /NAME/],
    ['§{HOST', /not complete/, /NAME/],
    ['§{HOST-x}', /not complete/, /NAME/],
    ['§{1X}', /not complete/, /NAME/],
  ])('%s is a fault', (text, fault, expected) => {
    const filled = fillIn(dollar(text), env)
    expect(filled).toMatchObject({
      fault: expect.stringMatching(fault),
      expected: expect.stringMatching(expected),
    })
  })

  it('does not find what every object inherits', () => {
    expect(fillIn(dollar('§{constructor}'), env)).toHaveProperty('fault')
  })

  it('never throws, and leaves text without a placeholder as it is', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const filled = fillIn(text, env)
        if (!text.includes(dollar('§{'))) expect(filled).toEqual({ text })
      }),
    )
  })
})
