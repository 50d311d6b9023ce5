import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ReprieveError } from '../../core/error.ts'
import { decodeData, type Event } from '../../core/event.ts'
import { linesOf } from './lines.ts'
import { publishLines } from './stream.ts'

async function* chunks(parts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part as string)
}

const publish = async (...parts: readonly (string | Uint8Array)[]) => {
  const batches: Event[][] = []
  const result = await publishLines(chunks(parts), async (events) => {
    batches.push([...events])
  })
  return { ...result, batches, events: batches.flat() }
}

describe('lines', () => {
  it('are the same however the bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string()), fc.array(fc.nat({ max: 7 })), async (texts, cuts) => {
        const whole = Buffer.from(texts.map((text) => text.replaceAll('\n', '')).join('\n'))
        const parts: Uint8Array[] = []
        let at = 0
        for (const cut of cuts) {
          parts.push(whole.subarray(at, at + cut))
          at += cut
        }
        parts.push(whole.subarray(at))
        const found: string[] = []
        for await (const group of linesOf(chunks(parts))) {
          for (const { bytes } of group) found.push(Buffer.from(bytes).toString())
        }
        const expected = whole.toString().split('\n')
        if (expected.at(-1) === '') expected.pop()
        expect(found).toEqual(expected)
      }),
    )
  })
})

describe('a stream of events', () => {
  it('takes CloudEvents and short lines, with a mark at the beginning, blank lines and any line end', async () => {
    const { events, stopped } = await publish(
      '\ufeff{"specversion":"1.0","id":"1","source":"s","type":"a","data":{"x":1},"orderkey":"k"}\r\n  \n',
      '{"type":"b","data":[1],"orderKey":"k","headers":{"h":"v"}}',
    )
    expect(stopped).toBeUndefined()
    expect(events.map((event) => [event.type, decodeData(event), event.extensions.orderkey])).toEqual([
      ['a', { x: 1 }, 'k'],
      ['b', [1], 'k'],
    ])
    expect(events[1]?.headers).toEqual({ h: 'v' })
  })

  it('publishes five hundred at a time', async () => {
    const { batches, published } = await publish('{"type":"a"}\n'.repeat(1200))
    expect(batches.map(({ length }) => length)).toEqual([500, 500, 200])
    expect(published).toBe(1200)
  })

  it.for([
    ['{"type":', /it is not JSON/],
    ['[1]', /no JSON object/],
    ['{}', /no 'type'/],
    ['{"type":"a","id":7}', /'id' is no text/],
    ['{"type":"a","headers":{"n":1}}', /'headers' is no object of texts/],
    ['{"type":"a","priority":"urgent"}', /priority 'urgent'/],
    ['{"type":"a*"}', /can't be the type/],
    ['{"specversion":"0.3","id":"1","source":"s","type":"a"}', /not 1\.0/],
    ['{"specversion":"1.0","source":"s","type":"a"}', /'id' is missing/],
  ] as const)('stops at %s, with everything before it published', async ([bad, why]) => {
    const { published, stopped, events } = await publish(
      `{"type":"a"}\n\n{"type":"a"}\n${bad}\n{"type":"never"}\n`,
    )
    expect(published).toBe(2)
    expect(events).toHaveLength(2)
    expect(stopped).toMatchObject({ line: 4, because: expect.stringMatching(why) })
  })

  it('tells what is wrong with a line in one line, and how to mend it apart', async () => {
    const { stopped } = await publish('{"type":"a*"}\n')
    expect(stopped?.because).toBe('"a*" can\'t be the type of an event')
    expect(stopped?.fix).toMatch(/name the event itself/)
  })

  it('a line that is too long is called so', async () => {
    const { stopped } = await publish('{"type":"a"}\n', `{"type":"a","data":"${'x'.repeat(9_000_000)}`)
    expect(stopped).toMatchObject({ line: 2, because: 'it is longer than 8388608 bytes' })
  })

  it('a line that is nested too deeply is called so', async () => {
    const { stopped } = await publish(`{"type":"a","data":${'['.repeat(100_000)}${']'.repeat(100_000)}}\n`)
    expect(stopped?.because).toMatch(/nested too deeply/)
  })

  it('bytes that are no UTF-8 are a bad line', async () => {
    const { published, stopped } = await publish('{"type":"a"}\n', new Uint8Array([0x7b, 0xff, 0x7d, 10]))
    expect({ published, line: stopped?.line }).toEqual({ published: 1, line: 2 })
  })

  it('tells which lines failed together when the transport refuses', async () => {
    const result = await publishLines(chunks(['{"type":"a"}\n'.repeat(700)]), async (events) => {
      if (events.length < 500) throw new ReprieveError('unheard', 'nobody is subscribed', { fix: 'start it' })
    })
    expect(result).toEqual({
      published: 500,
      stopped: { line: 501, through: 700, because: 'nobody is subscribed', fix: 'start it' },
    })
  })
})
