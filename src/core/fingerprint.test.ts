import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { spentOn } from '../../test/spent.ts'
import { classify } from './classify.ts'
import { BusinessRule } from './errors.ts'
import type { Failure } from './failure.ts'
import { FINGERPRINT_VERSION, fingerprint, normalise } from './fingerprint.ts'

const where = { service: 'notification-svc', topic: 'todo.task', type: 'todo.task.created' }
const failure = (message: string, more: Partial<Failure> = {}): Failure => ({
  category: 'unknown',
  kind: 'integration',
  name: 'Error',
  message,
  because: 'test',
  ...more,
})
const print = (message: string) => fingerprint(failure(message), where)

// Letters that no hexadecimal number has, so that no word is one by chance.
const word = fc.stringMatching(/^[g-z]{3,10}$/)
const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`))
const instant = fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
const port = fc.nat(65_535)

const changing: Record<string, fc.Arbitrary<string>> = {
  uuid: fc.uuid(),
  integer: fc.integer().map(String),
  number: fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  hex: fc.oneof(hex(8), hex(12), hex(40)),
  'hex with a prefix': hex(4).map((digits) => `0x0${digits}`),
  'id with a prefix': fc.tuple(fc.constantFrom('ord_', 'cus-', 'T'), fc.nat()).map((parts) => parts.join('')),
  'RFC 3339 time': instant.map((at) => at.toISOString()),
  'HTTP date': instant.map((at) => at.toUTCString()),
  'Date as text': instant.map((at) => at.toString()),
  email: fc.tuple(word, word, word).map(([user, host, tld]) => `${user}+x@${host}.${tld}`),
  'IPv4 and port': fc.tuple(fc.ipV4(), port).map((parts) => parts.join(':')),
  IPv6: fc.ipV6().filter((ip) => !ip.includes('.')),
  'IPv6 and port': fc
    .tuple(fc.constantFrom('::1', 'fe80::1', '2001:db8::2'), port)
    .map(([ip, n]) => `[${ip}]:${n}`),
  'host and port': fc
    .tuple(word, word, fc.integer({ min: 10, max: 65_535 }))
    .map(([a, b, n]) => `${a}.${b}:${n}`),
  url: fc
    .tuple(word, fc.option(port), fc.option(word))
    .map(
      ([host, n, query]) =>
        `https://${host}.example${n === null ? '' : `:${n}`}/orders${query ? `?q=${query}` : ''}`,
    ),
  'single quotes': fc.string().map((text) => `'${text.replaceAll("'", '')}'`),
  'double quotes': fc.string().map((text) => `"${text.replaceAll('"', '')}"`),
  'path and line': fc
    .tuple(fc.array(word), port, port)
    .map(([dirs, line, column]) => `${['', ...dirs, 'handler.ts'].join('/')}:${line}:${column}`),
  'file URL and line': fc
    .tuple(fc.array(word), port)
    .map(([dirs, line]) => `file://${['', ...dirs, 'handler.ts'].join('/')}:${line}`),
}

describe('the fingerprint stays the same', () => {
  it.each(Object.entries(changing))('whatever the %s', (_, arbitrary) => {
    fc.assert(
      fc.property(arbitrary, arbitrary, fc.array(word), fc.array(word), (one, other, before, after) => {
        const around = (value: string) => [...before, value, ...after].join(' ')
        expect(normalise(around(other))).toBe(normalise(around(one)))
        expect(print(`(${around(other)})`)).toBe(print(`(${around(one)})`))
      }),
      { numRuns: 300 },
    )
  })

  it('with lists of any length', () => {
    expect(print('ids [1, 2, 3] are gone')).toBe(print('ids [4] are gone'))
  })

  it('when the rules call it another category, and without a stack', () => {
    const one = failure('no', { stack: 'Error: no\n    at handle (/a/b.ts:1:2)' })
    const other = failure('no', { category: 'permanent', because: 'override' })
    expect(fingerprint(other, where)).toBe(fingerprint(one, where))
  })

  it('whatever the path, the line and the column in the stack', () => {
    const part = fc.stringMatching(/^[a-zA-Z0-9_.@-]{1,12}$/).filter((each) => each !== 'node_modules')
    const place = fc
      .tuple(
        fc.constantFrom('/', 'file:///', 'C:\\', 'webpack-internal:///'),
        fc.array(part, { maxLength: 5 }),
        fc.nat(9999),
        fc.nat(200),
      )
      .map(([root, parts, line, column]) => `${root}${[...parts, 'pay.ts'].join('/')}:${line}:${column}`)
    const stack = (places: readonly string[]) =>
      [
        'TypeError: x is not a function',
        `    at charge (${places[0]})`,
        `    at async handle (${places[1]})`,
        `    at ${places[2]}`,
        '    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)',
      ].join('\n')
    const three = fc.array(place, { minLength: 3, maxLength: 3 })
    const of = (places: readonly string[]) =>
      fingerprint(failure('x is not a function', { kind: 'handler', stack: stack(places) }), where)
    fc.assert(
      fc.property(three, three, (one, other) => {
        expect(of(other)).toBe(of(one))
      }),
    )
  })

  it('for ever: it is stored', () => {
    expect(FINGERPRINT_VERSION).toBe('f1')
    expect(print('order 17 of ann@example.org was refused')).toBe('f1-58e2a4fb32f940f1')
  })
})

describe('the fingerprint differs', () => {
  it('with the words', () => {
    fc.assert(
      fc.property(fc.array(word, { minLength: 1 }), fc.array(word, { minLength: 1 }), (one, other) => {
        fc.pre(one.join(' ') !== other.join(' '))
        expect(print(one.join(' '))).not.toBe(print(other.join(' ')))
      }),
    )
  })

  it('with name, code, status, service, topic and type', () => {
    const base = failure('no', { code: 'E1', status: 500 })
    const all = [
      fingerprint(base, where),
      fingerprint({ ...base, name: 'TypeError' }, where),
      fingerprint({ ...base, code: 'E2' }, where),
      fingerprint({ ...base, status: 404 }, where),
      fingerprint(failure('no', { status: 500 }), where),
      fingerprint(failure('no', { code: 'E1' }), where),
      fingerprint(base, { ...where, service: 'search' }),
      fingerprint(base, { ...where, topic: 'todo.user' }),
      fingerprint(base, { ...where, type: 'todo.task.deleted' }),
    ]
    expect(new Set(all).size).toBe(all.length)
    for (const each of all) expect(each).toMatch(/^f1-[0-9a-f]{16}$/)
  })

  it('between two functions whose built-in call threw the same', () => {
    const from = (name: string) =>
      fingerprint(
        failure('Reduce of empty array with no initial value', {
          kind: 'handler',
          stack: `TypeError: no\n    at Array.reduce (<anonymous>)\n    at ${name} (/app/pay.ts:1:1)`,
        }),
        where,
      )
    expect(from('charge')).not.toBe(from('refund'))
    const all = (name: string) =>
      fingerprint(
        failure('no', {
          kind: 'handler',
          stack: `Error: no\n    at async Promise.all (index 3)\n    at async ${name} (/app/pay.ts:1:1)`,
        }),
        where,
      )
    expect(all('charge')).not.toBe(all('refund'))
  })

  it('between two functions of one handler, but not between two lines of one', () => {
    const at = (frame: string) =>
      fingerprint(
        failure("Cannot read properties of undefined (reading 'x')", {
          kind: 'handler',
          stack: `TypeError: no\n    at Module.parse (/app/node_modules/lib/index.js:1:1)\n${frame}\n    at node:x:1:1`,
        }),
        where,
      )
    const charge = at('    at charge (/app/rel-1/src/pay.ts:10:5)')
    expect(at('    at async charge (file:///srv/rel-2/src/pay.ts:99:1)')).toBe(charge)
    expect(at('    at Payments.charge (/app/pay.ts:1:1)')).toBe(charge)
    expect(at('    at Payments.charge [as pay] (/app/pay.ts:1:1)')).toBe(charge)
    expect(at('    at refund (/app/rel-1/src/pay.ts:10:5)')).not.toBe(charge)
    expect(at('    at /app/rel-1/src/pay.ts:10:5')).not.toBe(charge)
  })
})

describe('with real errors', () => {
  const of = (error: unknown) => fingerprint(classify(error), where)

  it('groups the same trouble', () => {
    const refused = (port: number) =>
      new TypeError('fetch failed', {
        cause: Object.assign(new Error(`connect ECONNREFUSED 10.0.0.7:${port}`), { code: 'ECONNREFUSED' }),
      })
    expect(of(refused(5432))).toBe(of(refused(6543)))
    expect(of(new BusinessRule('no stock of SKU-1'))).toBe(of(new BusinessRule('no stock of SKU-22')))
    expect(of(new BusinessRule('no stock of SKU-1'))).not.toBe(of(new BusinessRule('no credit for SKU-1')))
  })
})

describe('normalise', () => {
  it.each([
    ["can't find user 'O'Brien' in user's list", "can't find user <value> in user's list"],
    ['POST https://u:p@api.example.com:8443/orders/8812?x=1#f, sorry', 'POST <url>/orders/<id>, sorry'],
    ['getaddrinfo ENOTFOUND db-7.internal', 'getaddrinfo ENOTFOUND <address>'],
    ['connect ECONNREFUSED ::1:5432', 'connect ECONNREFUSED <address>'],
    ['items.3.sku: expected string', 'items.<id>.sku: expected string'],
    ['C:\\app\\x.ts:1:2 broke', 'x.ts broke'],
    ['many   spaces\nand lines', 'many spaces and lines'],
    ['topic todo.task.created has no Foo::bar', 'topic todo.task.created has no Foo::bar'],
    ['', ''],
  ])('%s', (message, expected) => {
    expect(normalise(message)).toBe(expected)
  })

  it('is quick with any text', () => {
    const seeds = [
      " 'a",
      'a.',
      '//a:',
      '1:',
      '/a',
      'a@',
      '-',
      '<id> ',
      ':',
      '[::',
      'Mon ',
      '\\a.b',
      '1.',
      'ab',
      ' ',
    ]
    const spent = spentOn(() => {
      for (const seed of seeds) normalise(seed.repeat(2000))
    })
    expect(spent).toBeLessThan(1000)
    fc.assert(fc.property(fc.string({ size: 'large' }), (text) => normalise(text).length <= 500))
  })
})
