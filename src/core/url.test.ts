import { describe, expect, it } from 'vitest'
import { decoded, parameter, strayAt } from './url.ts'

describe('an @ behind the host of a URL', () => {
  it.each([
    'amqp://user:4711?secret@host/',
    'amqp://user:4711/secret@host:5672/v',
    'amqp://user:4711#secret@host',
    'amqp://user:se/cr?et@host',
    'kafka://user:secret?tls=true@host:9092',
    'postgres://user:4711/secret\n@host/db',
  ])('is told with how to write it, and with nothing of the URL: %s', (url) => {
    const why = strayAt(url)
    for (const written of ['%2F', '%3F', '%23', '%40']) expect(why).toContain(written)
    expect(why).not.toMatch(/secret|4711|user/)
  })

  it.each([
    'amqp://user:pass@host:5672/v?queue=classic',
    'amqp://user:p@ss@host',
    'amqp://user:p%40ss%2F@host/a%40b?ca=/a%40b.pem',
    'kafka://a:1,b:2?tls=true',
    'sqlite:a@b.db',
  ])('is not there: %s', (url) => expect(strayAt(url)).toBeUndefined())
})

it('a parameter that was mistyped is repeated, and what may be a piece of a secret is not', () => {
  expect(parameter('que')).toBe("'?que='")
  expect(parameter('x-max-length')).toBe("'?x-max-length='")
  for (const odd of ['pa$$', 'a b', 'a@b', '', 'x'.repeat(41), "it's"])
    expect(parameter(odd)).toBe('a parameter in it')
})

it('a % that stands for nothing is refused with how to write it', () => {
  const refuse = (why: string) => new Error(why)
  expect(decoded('a%40b', 'the user', refuse)).toBe('a@b')
  expect(() => decoded('a%zz', 'the user', refuse)).toThrow(
    "the user has a '%' in it that stands for nothing: write it as %25",
  )
})
