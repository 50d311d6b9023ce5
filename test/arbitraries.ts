import fc from 'fast-check'
import type { Event } from '../src/core/event.ts'
import { CATEGORIES, type Failure } from '../src/core/failure.ts'

/** What property tests draw from. */

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
const name = fc
  .oneof(
    { weight: 9, arbitrary: fc.stringMatching(/^[a-z0-9]{1,20}$/) },
    { weight: 1, arbitrary: fc.constant('constructor') },
  )
  .filter((each) => !RESERVED.has(each))
const headerName = fc
  .oneof(
    { weight: 9, arbitrary: fc.stringMatching(/^[a-zA-Z][a-zA-Z-]{0,15}$/) },
    // What every object seems to have already.
    { weight: 1, arbitrary: fc.constantFrom('constructor', 'toString', 'hasOwnProperty', 'valueOf') },
  )
  .filter((each) => !/^(ce_|cloudEvents)/.test(each))

const RESERVED = new Set([
  'id',
  'source',
  'type',
  'specversion',
  'subject',
  'time',
  'data',
  'dataschema',
  'datacontenttype',
])

/** JSON, text and bytes, with and without a content type that says so, and sometimes one that lies. */
const data = fc.oneof(
  fc.constant(null),
  fc.constant(Buffer.alloc(0)),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  fc.json().map((json) => Buffer.from(json)),
  fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value, null, 1))),
  fc.string({ unit: 'binary' }).map((each) => Buffer.from(each)),
)

const contentType = fc.constantFrom(
  undefined,
  'application/json',
  'application/vnd.x+json; charset=utf-8',
  'text/plain',
  'application/octet-stream',
)

/** Any event that may be published. */
export const events = (): fc.Arbitrary<Event> =>
  fc
    .record({
      id: text,
      source: text,
      type: text,
      subject: fc.option(text, { nil: undefined }),
      time: fc.option(fc.constantFrom('2026-01-02T03:04:05Z', '2026-01-02T03:04:05.678901+02:00'), {
        nil: undefined,
      }),
      dataschema: fc.option(fc.webUrl(), { nil: undefined }),
      datacontenttype: contentType,
      extensions: fc.dictionary(name, fc.oneof(text, fc.integer(), fc.boolean()), {
        maxKeys: 4,
        noNullPrototype: true,
      }),
      headers: fc.dictionary(headerName, fc.string({ unit: 'grapheme' }), {
        maxKeys: 4,
        noNullPrototype: true,
      }),
      data,
    })
    .map(
      (record) =>
        Object.fromEntries(
          Object.entries(record).filter(([, value]) => value !== undefined),
        ) as unknown as Event,
    )

/** The event as a transport of text headers hands it over. */
export const textual = (event: Event): Event => ({
  ...event,
  extensions: Object.fromEntries(
    Object.entries(event.extensions).map(([key, value]) => [key, String(value)]),
  ),
})

/** Texts as errors carry them: short, long, of any script, and full of what JSON must escape. */
const errorText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc
    .tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 5 }), fc.nat(900))
    .map(([part, n]) => part.repeat(n)),
  fc.constantFrom('\u0000'.repeat(3000), '漢'.repeat(3000), '\\"'.repeat(2000)),
)

export const failures = (): fc.Arbitrary<Failure> =>
  fc
    .record({
      category: fc.constantFrom(...CATEGORIES),
      kind: fc.constantFrom('schema', 'business', 'timeout', 'handler'),
      name: errorText,
      message: errorText,
      because: fc.constant('a test'),
      code: fc.option(errorText, { nil: undefined }),
      status: fc.option(fc.integer({ min: 100, max: 599 }), { nil: undefined }),
      stack: fc.option(errorText, { nil: undefined }),
    })
    .map(
      (record) =>
        Object.fromEntries(
          Object.entries(record).filter(([, value]) => value !== undefined),
        ) as unknown as Failure,
    )
