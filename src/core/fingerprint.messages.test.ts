import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Failure } from './failure.ts'
import { fingerprint } from './fingerprint.ts'

/** Messages as they are found in the logs of services. */

const where = { service: 'billing', topic: 'orders', type: 'order.placed' }
const print = (message: string, kind: Failure['kind'] = 'integration') =>
  fingerprint({ category: 'unknown', kind, name: 'Error', message, because: 'test' }, where)

const word = fc.stringMatching(/^[g-z]{3,10}$/)
const port = fc.integer({ min: 10, max: 65_535 })

const gaps: Record<string, fc.Arbitrary<string>> = {
  id: fc.tuple(fc.constantFrom('ord_', 'cus-', 'T'), fc.nat()).map((parts) => parts.join('')),
  email: fc.tuple(word, word, word).map(([user, host, tld]) => `${user}+x@${host}.${tld}`),
  integer: fc.nat().map(String),
  address: fc.oneof(
    fc.tuple(fc.ipV4(), port).map((parts) => parts.join(':')),
    fc.tuple(fc.constantFrom('::1', 'fe80::1', '2001:db8::2'), port).map(([ip, n]) => `[${ip}]:${n}`),
    fc.tuple(word, word, port).map(([a, b, n]) => `${a}.${b}:${n}`),
  ),
  uuid: fc.uuid(),
  url: fc.tuple(word, port, word).map(([host, n, query]) => `https://${host}.example:${n}/orders?q=${query}`),
  path: fc.tuple(word, word, fc.nat()).map(([a, b, n]) => `/${a}/${b}-${n}/config.json`),
  instant: fc
    .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
    .map((at) => at.toISOString()),
  quoted: fc.string().map((text) => `'${text.replaceAll("'", '')}'`),
}

describe('the fingerprint stays the same', () => {
  it.each([
    ['order {id} of {email} was refused after {integer} attempts', 'handler'],
    ['connect ECONNREFUSED {address}', 'integration'],
    ['duplicate key value violates unique constraint "orders_pkey" (order_id)=({uuid})', 'integration'],
    ['timeout of {integer}ms exceeded for {url}', 'timeout'],
    [
      'deadlock detected: process {integer} waits for transaction {integer}; blocked by {integer}',
      'integration',
    ],
    ['could not read {path}: line {integer}, column {integer}', 'handler'],
    ['token expired at {instant} for user {quoted}', 'auth'],
    [
      'partition {integer} of topic orders: offset {integer} is out of range [{integer}, {integer}]',
      'integration',
    ],
  ] as const)('of %s, whatever stands in its gaps', (template, kind) => {
    const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
    const values = fc.tuple(...names.map((name) => gaps[name]!))
    const filled = (list: readonly string[]) => {
      let i = 0
      return template.replace(/\{\w+\}/g, () => list[i++]!)
    }
    fc.assert(
      fc.property(values, values, (one, other) => {
        expect(print(filled(other), kind)).toBe(print(filled(one), kind))
      }),
    )
  })
})

describe('the fingerprint differs', () => {
  it('between defects that are not the same', () => {
    const defects = [
      "Cannot read properties of undefined (reading 'id') in charge",
      'x is not a function',
      'x is not iterable',
      'connect ECONNREFUSED 10.0.0.1:5432',
      'connect ETIMEDOUT 10.0.0.1:5432',
      'connect EHOSTUNREACH 10.0.0.1:5432',
      'getaddrinfo ENOTFOUND db.internal',
      'getaddrinfo EAI_AGAIN db.internal',
      'read ECONNRESET',
      'socket hang up',
      'order 17 was refused',
      'order 17 was already paid',
      'customer 17 was refused',
      'GET https://api.example.org/orders/17 answered 500',
      'GET https://api.example.org/customers/17 answered 500',
      'POST https://api.example.org/orders/17 answered 500',
      'could not read /etc/app/config.json: line 3',
      'could not read /etc/app/routes.json: line 3',
      'could not write /etc/app/config.json: line 3',
      'items.3.sku: expected string',
      'items.3.price: expected string',
      'items.3.sku: expected number',
      'timeout after 500 ms',
      'timeout after 500 attempts',
      '',
    ]
    expect(new Set(defects.map((each) => print(each))).size).toBe(defects.length)
  })
})
