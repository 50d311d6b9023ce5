import assert from 'node:assert/strict'
import { contentHash } from '../../core/repair.ts'
import { idsOf, trial } from './letters-bench.ts'
import { sameEvent } from './samples.ts'
import type { Trial } from './trial.ts'

export const outlineTrials: readonly Trial[] = [
  trial('outlines come in the order of letters, page by page, and tell the same', async (on) => {
    const written = on.write(5, (n) => ({
      ...(n === 1 && { redacted: { at: ['$.card'] } }),
      ...(n === 2 && { origin: { nowhere: 'nothing tells' }, reason: 'found' as const }),
    }))
    await on.letters.keep(written)
    const { service } = on
    const first = await on.letters.outlines({ service }, 3)
    const second = await on.letters.outlines({ service }, 3, first.at(-1)!.letter.id)
    const outlines = [...first, ...second]
    assert.deepEqual(
      outlines.map(({ letter }) => letter.id),
      idsOf(written).toReversed(),
    )
    for (const [n, { letter, state }] of outlines.toReversed().entries()) {
      const { destination, topic, consumerGroup, reason, buriedAt, origin, redacted, event, trail } =
        written[n]!
      const { id, source, type, time, extensions } = event
      assert.deepEqual(
        [
          letter.destination,
          letter.service,
          letter.topic,
          letter.consumerGroup,
          letter.reason,
          letter.buriedAt,
        ],
        [destination, service, topic, consumerGroup, reason, buriedAt],
      )
      assert.deepEqual([letter.origin, letter.redacted], [origin, redacted])
      const of = letter.event
      assert.deepEqual(
        [of.id, of.source, of.type, of.time, of.extensions],
        [id, source, type, time, extensions],
      )
      assert.equal(letter.trail.generation, trail.generation)
      assert.equal(state, 'open')
    }
    const words = await on.letters.outlines({ service, error: 'no such words' }, 10)
    assert.deepEqual(words, [])
    assert.equal((await on.letters.outlines({ service, states: ['resolved'] }, 10)).length, 0)
  }),

  trial('what would be sent is what was kept, or its newest version', async (on) => {
    const data = [Buffer.from('{"n": 1}'), Buffer.from([0xff, 0, 1]), null, Buffer.alloc(0)]
    const written = on.write(4).map((letter, n) => ({
      ...letter,
      event: { ...letter.event, headers: n === 0 ? { 'x-a': 'ž' } : {}, data: data[n]! },
    }))
    await on.letters.keep(written)
    const sent = async () => {
      const found = await on.letters.sendables([...idsOf(written), 'unknown'])
      const byId = new Map(found.map((kept) => [kept.letter.id, kept]))
      assert.equal(byId.size, found.length)
      return written.map(({ id }) => byId.get(id)!)
    }
    for (const [n, { letter, state }] of (await sent()).entries()) {
      sameEvent(letter.event, written[n]!.event)
      assert.equal(state, 'open')
    }
    if (!on.letters.desk) return
    const [{ id, event }] = written as [(typeof written)[0]]
    const content = { headers: { 'x-a': 'new' }, data: new Uint8Array(Buffer.from('{"n":2}')) }
    const repair = {
      ...{ version: 1, at: 5, who: 'ann', change: null, ...content },
      ...{ before: contentHash(event), hash: contentHash(content) },
    }
    const act = { at: 5, who: 'ann', act: 'repair', details: {} }
    await on.letters.desk.repair([{ id, from: ['open'], repair }], act)
    const [first, second] = await sent()
    sameEvent(first!.letter.event, event)
    assert.deepEqual(first!.repair, repair)
    assert.equal(second!.repair, undefined)
    const outlines = await on.letters.outlines({ service: on.service }, 10)
    assert.deepEqual(
      outlines.toReversed().map((outline) => outline.repair?.hash),
      [repair.hash, undefined, undefined, undefined],
    )
  }),
]
