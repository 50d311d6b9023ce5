import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { covers } from '../../core/pattern.ts'
import { buildBook } from '../book.ts'
import { topicsFor } from '../topics.ts'
import { vocabularyOf } from './vocabulary.ts'

const name = fc.string({ unit: fc.constantFrom('a', 'b', '.'), minLength: 1, maxLength: 5 })
const star = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 4 }).map((each) => `${each}*`)
const types = fc.uniqueArray(fc.oneof(name, star), { maxLength: 8 })

const bookOf = (topics: readonly (readonly string[])[], rows: readonly string[]) =>
  buildBook({
    topics: Object.fromEntries(topics.map((each, index) => [`topic-${index}`, [...each]])),
    services: { s: { events: Object.fromEntries(rows.map((row) => [row, {}])) } },
  })

describe('the vocabulary of a book', () => {
  it('serves a beginning exactly where a transport without patterns would find a topic', () => {
    fc.assert(
      fc.property(types, types, star, (declared, rows, asked) => {
        const book = bookOf([declared], rows)
        expect(vocabularyOf(book).serves(asked)).toBe(topicsFor(book, asked, false).length > 0)
      }),
    )
  })

  it('knows what is declared, and the full names within a beginning while no star leaves it open', () => {
    fc.assert(
      fc.property(types, types, fc.oneof(name, star), (first, second, asked) => {
        const all = [...new Set([...first, ...second])]
        const words = vocabularyOf(bookOf([first, second], []))
        expect(words.declared(asked)).toBe(all.some((type) => covers(type, asked)))
        if (!asked.endsWith('*')) return
        const open = all.some((type) => type.endsWith('*') && (covers(type, asked) || covers(asked, type)))
        const within = all.filter((type) => covers(asked, type)).sort()
        expect([...(words.within(asked) ?? [])]).toEqual(open ? [] : within)
        expect(words.within(asked) === undefined).toBe(open)
      }),
    )
  })
})
