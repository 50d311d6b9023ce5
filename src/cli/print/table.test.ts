import { describe, expect, it } from 'vitest'
import { type Column, table } from './table.ts'
import { cutTo, widthOf, wrapped } from './width.ts'

interface Row {
  name: string
  count: number
  text: string
}

const columns: readonly Column<Row>[] = [
  { title: 'name', of: ({ name }) => name },
  { title: 'count', of: ({ count }) => String(count), align: 'right' },
  { title: 'text', of: ({ text }) => text, least: 6 },
]
const rows: Row[] = [
  { name: 'a', count: 7, text: 'short' },
  { name: '東京', count: 1200, text: 'a text that is longer than there is room for' },
]

describe('table', () => {
  it('aligns by what is seen, not by characters', () => {
    expect(table(columns, rows)).toBe(
      [
        'name  count  text',
        'a         7  short',
        '東京   1200  a text that is longer than there is room for',
      ].join('\n'),
    )
  })

  it('fits the terminal by cutting what may be cut', () => {
    const lines = table(columns, rows, 30).split('\n')
    expect(lines[2]).toBe('東京   1200  a text that is l…')
    expect(Math.max(...lines.map(widthOf))).toBe(30)
    // where there is hardly any room it gives more than it likes; numbers stay whole
    expect(table(columns, rows, 18).split('\n')[2]).toBe('東京   1200  a te…')
    expect(table(columns, rows, 5).split('\n')[2]).toBe('東京   1200  a t…')
  })

  it('goes on below where a column says so, and nothing is lost', () => {
    const wrapping = columns.map((column) =>
      column.title === 'text' ? { ...column, wrap: true as const } : column,
    )
    expect(table(wrapping, rows, 30).split('\n')).toEqual([
      'name  count  text',
      'a         7  short',
      '東京   1200  a text that is',
      '             longer than there',
      '             is room for',
    ])
  })

  it('what others wrote stays in its cell', () => {
    expect(table(columns, [{ name: 'x\ny', count: 1, text: '\u001b[2J' }])).toContain('x␊y')
  })
})

describe('wrapped', () => {
  it('breaks between words, and a word only where a line has no room for it', () => {
    expect(wrapped('one two three', 7)).toEqual(['one two', 'three'])
    expect(wrapped('one  abcdefghij k', 5)).toEqual(['one', 'abcde', 'fghij', 'k'])
    expect(wrapped('東京タワー', 5)).toEqual(['東京', 'タワ', 'ー'])
    expect(wrapped('', 5)).toEqual([''])
  })
})

describe('cutTo', () => {
  it('never cuts a character in two', () => {
    expect(cutTo('ab👩🏽cd', 4)).toBe('ab…')
    expect(cutTo('ab👩🏽cd', 5)).toBe('ab👩🏽…')
    expect(cutTo('abc', 3)).toBe('abc')
    expect(cutTo('abc', 0)).toBe('')
  })
})
