import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { code, grid, words } from './markdown.ts'

const nasty = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('a', '|', '`', '\\', '\n', '<', '>', '&', '*', '_', '[', ']', '\u202e'),
  }),
)

/** As GitHub splits a row: a backslash takes the character after it along. */
const cellsOf = (line: string): number => [...line.replace(/\\./g, '').matchAll(/\|/g)].length - 1

describe('foreign words in Markdown', () => {
  it('what people write stays readable', () => {
    expect(words('the user service lags behind (404 → 200), "soon"')).toBe(
      'the user service lags behind (404 → 200), "soon"',
    )
    expect(code('todo.task.*')).toBe('`todo.task.*`')
    expect(code('_mail-svc.deadletter')).toBe('`_mail-svc.deadletter`')
  })

  it('what Markdown or HTML would read is written by its number', () => {
    expect(words('a|b `c` <img src=x>\n# d')).toBe('a&#124;b &#96;c&#96; &#60;img src=x> &#35; d')
    expect(code('a|`b\\')).toBe('<code>a&#124;&#96;b&#92;</code>')
    expect(code('<b>|')).toBe('<code>&#60;b&#62;&#124;</code>')
  })

  it('a row keeps its cells and its line, whatever is in them', () => {
    fc.assert(
      fc.property(nasty, nasty, (a, b) => {
        const table = grid(['a', 'b'], [[words(a), code(b)]])
        const lines = table.split('\n')
        expect(lines).toHaveLength(3)
        expect(cellsOf(lines[2]!)).toBe(2)
        expect(table).not.toMatch(/\p{Cc}(?<!\n)|\p{Cf}/u)
      }),
    )
  })

  it('no tag and no link comes of it', () => {
    fc.assert(
      fc.property(nasty, (text) => {
        expect(words(text)).not.toMatch(/[<[\]`*_\\]/)
        expect(code(text).replace(/^<code>|<\/code>$|^`|`$/g, '')).not.toMatch(/`|<(?=.*[|`\\])/)
      }),
    )
  })
})
