import { describe, expect, it } from 'vitest'
import { NAMING } from './builtin.ts'
import { fillName, PLACEHOLDERS, templateFault } from './naming.ts'

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
