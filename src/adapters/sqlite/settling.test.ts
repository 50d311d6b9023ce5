import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { acks, event, events, ids, ledgerKey, present, subscription } from '../../../test/stores/sqlite.ts'
import type { Subscription } from '../../contracts/transport.ts'
import { testTools } from '../../testing/tools.ts'
import { open } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-settling-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const never = new AbortController().signal

let files = 0
const newPath = (): string => join(folder, `${++files}.db`)

const desk = async (over: Partial<Subscription> = {}, path = newPath()) => {
  const tools = testTools()
  const { transport, store } = await open(`sqlite:${path}`, tools)
  const to = subscription(over)
  return { transport, store, tools, to, inlet: await transport.subscribe(to) }
}

describe('settling', () => {
  it('a copy of a delivery settles it too', async () => {
    const at = await desk()
    await at.transport.publish(at.to.topic, events(1))
    const [delivery] = await at.inlet.receive(1, never)
    expect(await at.inlet.settle(acks([{ ...delivery! }]))).toEqual(['done'])
  })

  it('a delivery of another adapter is lost, and harms nobody in its batch', async () => {
    const at = await desk()
    await at.transport.publish(at.to.topic, events(1))
    const [delivery] = await at.inlet.receive(1, never)
    const foreign = { parcel: delivery!.parcel, redelivered: false }
    expect(await at.inlet.settle(acks([foreign, delivery!]))).toEqual(['lost', 'done'])
  })

  it('a parcel that can not be written is an error of its own', async () => {
    const at = await desk()
    await at.transport.publish(at.to.topic, events(2))
    const [one, two] = await at.inlet.receive(2, never)
    const broken = { ...one!.parcel.event, extensions: { n: 1n as unknown as number } }
    const answers = await at.inlet.settle([
      { do: 'later', delivery: one!, parcel: { ...one!.parcel, event: broken } },
      { do: 'ack', delivery: two! },
    ])
    expect(answers).toEqual([expect.any(TypeError), 'done'])
    expect(await at.inlet.settle(acks([one!]))).toEqual(['done'])
  })

  it('with a claim that another holds by now changes nothing', async () => {
    const at = await desk({ ledgerKey, lease: 1000 })
    await at.transport.publish(at.to.topic, [event('same'), event('same')])
    const [first, second] = await at.inlet.receive(2, never)
    expect(second!.claim).toMatchObject({ is: 'busy' })
    const parcel = { ...second!.parcel, due: at.tools.clock.now() + 1000 }
    await at.inlet.settle([{ do: 'later', delivery: second!, parcel }])
    await at.tools.clock.advance(1000)
    // Both are ready again; the double is taken alone, and with it the claim.
    const double = (await present(at.inlet, 2)).find(({ claim }) => claim?.is === 'fresh')
    expect(double!.claim).toMatchObject({ crashes: 1 })
    expect(await at.inlet.settle(acks([first!]))).toEqual(['lost'])
  })

  it('for a parcel that is gone leaves its claim as it was', async () => {
    const path = newPath()
    const at = await desk({ ledgerKey }, path)
    await at.transport.publish(at.to.topic, events(1))
    const [delivery] = await at.inlet.receive(1, never)
    const database = new DatabaseSync(path)
    database.exec('DELETE FROM reprieve_parcel')
    database.close()
    expect(await at.inlet.settle(acks([delivery!]))).toEqual(['lost'])
    const [claim] = await at.store!.ledger.claim([ledgerKey(delivery!.parcel)], at.tools.clock.now() + 1)
    expect(claim).toMatchObject({ is: 'busy' })
  })

  it.each(['later', 'give back'] as const)('%s happens once', async (how) => {
    const at = await desk()
    await at.transport.publish(at.to.topic, events(1))
    const [delivery] = await at.inlet.receive(1, never)
    const settlement = { do: how, delivery: delivery!, parcel: delivery!.parcel }
    expect(await at.inlet.settle([settlement])).toEqual(['done'])
    expect(await at.inlet.settle([settlement])).toEqual(['lost'])
    expect(await at.inlet.settle(acks([delivery!]))).toEqual(['lost'])
    expect(await present(at.inlet)).toHaveLength(1)
  })

  it('at a destination that nobody made: it is made', async () => {
    const at = await desk()
    const receipt = { letter: 'l', to: '_office', outcome: 'done', at: 0, attempts: 1 } as const
    await at.transport.publish(at.to.topic, events(1))
    const [delivery] = await at.inlet.receive(1, never)
    expect(await at.inlet.settle([{ do: 'ack', delivery: delivery!, receipt }])).toEqual(['done'])
    const office = await at.transport.collect({ name: '_office' })
    expect(ids(await office.receive(1, never))).toEqual(['l#receipt'])
  })
})

describe('a destination with an end to its patience', () => {
  it('hands over and counts only what it still keeps, and the rest is dropped in time', async () => {
    const path = newPath()
    const at = await desk({}, path)
    const to = { name: '_office', expire: 1000 }
    const office = await at.transport.collect(to)
    const receipt = (letter: string) =>
      ({ letter, to: to.name, outcome: 'done', at: 0, attempts: 1 }) as const
    const send = async (letters: readonly string[]) => {
      await at.transport.publish(at.to.topic, events(letters.length))
      const got = await at.inlet.receive(letters.length, never)
      await at.inlet.settle(
        got.map((delivery, n) => ({ do: 'ack', delivery, receipt: receipt(letters[n]!) })),
      )
    }
    await send(Array.from({ length: 250 }, (_, n) => `old-${n}`))
    await at.tools.clock.advance(1000)
    expect(await office.lag()).toEqual({ waiting: 0 })
    expect(await present(office)).toEqual([])
    await send(['a', 'b', 'c'])
    expect(ids(await office.receive(10, never))).toEqual(['a#receipt', 'b#receipt', 'c#receipt'])
    const database = new DatabaseSync(path)
    expect(database.prepare('SELECT count(*) AS n FROM reprieve_parcel').get()).toEqual({ n: 3 })
    database.close()
  })
})
