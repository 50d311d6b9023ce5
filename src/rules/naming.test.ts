import { describe, expect, it } from 'vitest'
import { KINDS } from '../core/failure.ts'
import { NAMING } from './builtin.ts'
import { destinationsFor } from './destinations.ts'
import { readRules } from './load.ts'
import { fillName, PLACEHOLDERS, quarantineFor, templateFault } from './naming.ts'
import { rulesFor } from './resolve.ts'

const values = { service: 'mail-svc', topic: 'todo', queue: 'mail-svc.todo' }

describe('templates', () => {
  it('leave out the part in brackets when what it needs is not there', () => {
    expect(fillName(NAMING.deadLetter, values)).toBe('_mail-svc.deadletter')
    expect(fillName(NAMING.deadLetter, { ...values, channel: 'sms' })).toBe('_mail-svc.deadletter.sms')
  })

  it('name dead letters after the queue where that is the custom', () => {
    expect(fillName('{queue}.dlq', values)).toBe('mail-svc.todo.dlq')
    expect(fillName('{queue}-dlq', values)).toBe('mail-svc.todo-dlq')
  })

  it.each(['_{service}.deadletter[.{channel}]', '{queue}-dlq', 'all.dead'])('%s can be used', (template) => {
    expect(templateFault(template, PLACEHOLDERS.deadLetter)).toBeUndefined()
  })

  it.each(['{kind}.dlq', '{service', 'a b', '', '[[{service}]]', 'dlq/{service}', '{}', '.dlq'])(
    "'%s' can't",
    (template) => {
      expect(templateFault(template, PLACEHOLDERS.deadLetter)).toBeTypeOf('string')
    },
  )

  it('all built-in ones can be used', () => {
    for (const [name, template] of Object.entries(NAMING)) {
      expect(templateFault(template, PLACEHOLDERS[name as keyof typeof PLACEHOLDERS])).toBeUndefined()
    }
  })
})

describe('quarantines by kind', () => {
  const book = readRules(
    "version: 1\nnaming: { deadLetter: '{queue}.dlq', quarantine: '{queue}.dlq.quarantine.{kind}' }\n",
    'book.yaml',
  )
  const { quarantine } = rulesFor(book, 'shop', 'order.placed').deadLetter

  it('are told apart when something fails', () => {
    expect(quarantine).toBe('shop.order.placed.dlq.quarantine.{kind}')
    expect(quarantineFor(quarantine, 'schema')).toBe('shop.order.placed.dlq.quarantine.schema')
    expect(quarantineFor('plain', 'schema')).toBe('plain')
  })

  it('are all known before', () => {
    expect(destinationsFor(book, 'shop', ['order.placed']).map(({ name }) => name)).toEqual([
      'shop.order.placed.dlq',
      ...KINDS.map((kind) => `shop.order.placed.dlq.quarantine.${kind}`),
    ])
  })

  it('have no place in the name of a dead-letter destination, where kinds are not told apart', () => {
    expect(() => readRules("version: 1\nnaming: { deadLetter: '{queue}.{kind}' }\n", 'book.yaml')).toThrow(
      /placeholder \{kind\}/,
    )
  })
})
