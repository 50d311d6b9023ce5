import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { testTools } from '../../testing/tools.ts'
import { bellsOf } from './bells.ts'
import { openFile } from './file.ts'
import { inletOf } from './inlet.ts'
import { insertParcel, writtenOf } from './parcels.ts'
import { subscriptionsOf } from './subscriptions.ts'
import { writerOf } from './writer.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-inlet-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const never = new AbortController().signal
let files = 0

/** An inlet with two parcels waiting and a window of one, on a disk that can be made to refuse. */
const desk = async () => {
  const tools = testTools()
  const disk = { full: false }
  const real = await openFile(join(folder, `${++files}.db`), tools)
  const file = {
    ...real,
    commit: () => {
      if (disk.full) throw Object.assign(new Error('disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 })
      real.commit()
    },
  }
  const { clock } = tools
  const subscriptions = subscriptionsOf(file)
  const writer = writerOf(file, tools, { tidy: () => {}, undone: subscriptions.forget })
  const room = { file, writer, bells: bellsOf(clock), subscriptions, clock, poll: 250 }
  const door = subscriptions.destination({ name: 'here' })
  const event = { source: '/', type: 't', extensions: {}, headers: {}, data: null }
  for (const id of ['one', 'two']) insertParcel(file, door, writtenOf({ id, ...event }), clock.now())
  return { disk, tools, inlet: inletOf(room, door, { lease: 30_000, window: 1 }, () => {}) }
}

describe('a disk that is full for a while', () => {
  it('makes settling answer with the reason, and counts nothing as settled', async () => {
    const { disk, tools, inlet } = await desk()
    const [delivery] = await inlet.receive(1, never)
    const ack = [{ do: 'ack', delivery: delivery! }] as const
    disk.full = true
    expect(await inlet.settle(ack)).toEqual([expect.objectContaining({ code: 'unavailable' })])
    disk.full = false
    const stop = new AbortController()
    const second = inlet.receive(1, stop.signal)
    await tools.clock.advance(1000)
    stop.abort()
    expect(await second).toEqual([])
    expect(await inlet.settle(ack)).toEqual(['done'])
    expect(await inlet.receive(1, never)).toMatchObject([{ parcel: { event: { id: 'two' } } }])
  })

  it('makes receiving say so, and hands over all when there is space again', async () => {
    const { disk, inlet } = await desk()
    disk.full = true
    await expect(inlet.receive(1, never)).rejects.toMatchObject({ code: 'unavailable' })
    disk.full = false
    expect(await inlet.receive(1, never)).toMatchObject([{ redelivered: false }])
  })
})
