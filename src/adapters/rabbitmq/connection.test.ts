import { createServer } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished } from 'vitest'
import { type FaultProxy, openProxy, type Tap } from '../../../test/faults/proxy.ts'
import {
  deskAt,
  hasty,
  idsOf,
  makeEvent,
  makeEvents,
  take,
  takeOne,
  uniqueName,
} from '../../../test/rabbitmq/desk.ts'
import { describeWith } from '../../../test/services/urls.ts'

/** How the payload of a method begins. */
const frameOf = (group: number, method: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt16BE(group, 0)
  bytes.writeUInt16BE(method, 2)
  return bytes
}

/** What a broker says that is told to stop: connection.close with 320. */
const CLOSE = Buffer.concat([
  Buffer.from([1, 0, 0, 0, 0, 0, 28]),
  frameOf(10, 50),
  Buffer.from([1, 64, 17]),
  Buffer.from('CONNECTION_FORCED'),
  Buffer.from([0, 0, 0, 0, 0xce]),
])

const PASSWORD = 'guest-and-nobody-else'

describeWith('amqp', 'the connection to RabbitMQ', (url) => {
  const desk = deskAt(url)
  let wire: FaultProxy

  beforeAll(async () => {
    wire = await openProxy(url)
  })
  afterEach(() => wire.admit())
  afterAll(() => wire.close())

  const troubles = () => desk.facts.filter((fact) => fact.is === 'trouble')

  it('cut, it is made again: the inlet goes on and what was out comes again', async () => {
    const to = desk.subscription()
    const transport = await desk.transport(wire.url)
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(3))
    const before = await take(inlet, 3)
    const seen = troubles().length
    wire.cut()
    const again = await take(inlet, 3)
    expect(idsOf(again)).toEqual(idsOf(before))
    expect(again.every(({ redelivered }) => redelivered)).toBe(true)
    // tags of the old channel are void: nothing of them may touch the new one
    expect(await inlet.settle(before.map((delivery) => ({ do: 'ack', delivery })))).toEqual([
      'lost',
      'lost',
      'lost',
    ])
    expect(await inlet.settle(again.map((delivery) => ({ do: 'ack', delivery })))).toEqual([
      'done',
      'done',
      'done',
    ])
    await transport.publish(to.topic, [makeEvent({ id: 'after' })])
    expect((await takeOne(inlet)).parcel.event.id).toBe('after')
    expect(troubles().slice(seen)).toContainEqual(
      expect.objectContaining({
        where: `rabbitmq inlet ${to.service}.${to.topic}`,
        retryIn: expect.any(Number),
      }),
    )
  })

  it('cut in the middle of a settlement, the answer is lost or an error, and the event is not', async () => {
    const to = desk.subscription()
    const transport = await desk.transport(wire.url)
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, [makeEvent()])
    const delivery = await takeOne(inlet)
    const settling = inlet.settle([{ do: 'later', delivery, parcel: delivery.parcel }])
    wire.cut()
    const [answer] = await settling
    expect(answer === 'lost' || answer instanceof Error).toBe(true)
    expect((await takeOne(inlet)).parcel.event.id).toBe(delivery.parcel.event.id)
  })

  it('the deletion of its queue does not end an inlet', async () => {
    const to = desk.subscription()
    const transport = await desk.transport()
    const inlet = await transport.subscribe(to)
    const seen = troubles().length
    await (await desk.channel()).deleteQueue(`${to.service}.${to.topic}`)
    await expect.poll(() => transport.publish(to.topic, [makeEvent()]).catch(() => 'unheard')).toBeUndefined()
    expect(await takeOne(inlet)).toBeDefined()
    // a broker says no more than that
    expect(String(troubles()[seen]!.error)).toMatch(
      /cancelled it: the queue was deleted, .* unsettled for too long/,
    )
  })

  it('in an outage publishing is refused after a while, settling answers, and all works again after it', async () => {
    const to = desk.subscription()
    const transport = await desk.transport(wire.url, hasty(6))
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(2))
    const [one, two] = await take(inlet, 2)
    wire.refuse()
    wire.cut()
    const refused = transport.publish(to.topic, [makeEvent()])
    const settled = inlet.settle([{ do: 'later', delivery: one!, parcel: one!.parcel }])
    await expect(refused).rejects.toMatchObject({ code: 'unavailable' })
    const [answer] = await settled
    expect(answer === 'lost' || answer instanceof Error).toBe(true)
    const where = `rabbitmq inlet ${to.service}.${to.topic}`
    await expect.poll(() => troubles()).toContainEqual(expect.objectContaining({ where }))
    expect(await inlet.settle([{ do: 'ack', delivery: two! }])).toEqual(['lost'])
    wire.admit()
    await transport.publish(to.topic, [makeEvent({ id: 'after' })])
    expect(idsOf(await take(inlet, 3))).toEqual([one!.parcel.event.id, two!.parcel.event.id, 'after'].sort())
    // whoever was told of the trouble is told of its end
    const back = expect.objectContaining({
      is: 'notice',
      text: expect.stringMatching(`^${where} goes on, after `),
    })
    expect(desk.facts.filter((fact) => fact.is === 'notice')).toContainEqual(back)
  })

  it('a broker that answers nothing keeps nobody waiting for ever', async () => {
    const to = desk.subscription()
    const transport = await desk.transport(wire.url, hasty(6))
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, [makeEvent()])
    wire.freeze()
    await expect(transport.publish(to.topic, [makeEvent()])).rejects.toThrow(/no confirm within 10000 ms/)
    await expect(inlet.lag()).rejects.toThrow(/no answer within 10000 ms/)
    const late = desk.transport(wire.url, hasty(6))
    await expect(late).rejects.toThrow(/no answer within 10000 ms/)
    await expect(late).rejects.toMatchObject({ fix: expect.stringMatching(/host and port/) })
    await transport.close()
    wire.admit()
    wire.cut()
  })

  it.each([
    ['a connection', 10, 41],
    ['a channel that confirms', 85, 11],
  ])('closed by the broker right behind the opening of %s, it is made again', async (_, group, method) => {
    let closing = true
    const behind = frameOf(group, method)
    const tap = (): Tap => (bytes, way) => {
      const at = way === 'answered' ? bytes.indexOf(behind) : -1
      if (!closing || at < 0) return { pass: bytes, cut: false }
      closing = false
      return { pass: Buffer.concat([bytes, CLOSE]), cut: false }
    }
    const shut = await openProxy(url, { tap })
    const to = desk.subscription()
    const inlet = await (await desk.transport()).subscribe(to)
    const transport = await desk.transport(shut.url, hasty(6)).catch(() => desk.transport(shut.url, hasty(6)))
    await expect
      .poll(() => transport.publish(to.topic, [makeEvent({ id: 'after' })]).catch(({ code }) => code), {
        timeout: 15_000,
      })
      .toBeUndefined()
    expect((await takeOne(inlet)).parcel.event.id).toBe('after')
    expect(closing).toBe(false)
    await transport.close()
    await shut.close()
  })

  it('in an outage it can be left at once', async () => {
    const transport = await desk.transport(wire.url)
    const inlet = await transport.subscribe(desk.subscription())
    const receiving = inlet.receive(1, new AbortController().signal)
    wire.refuse()
    wire.cut()
    const publishing = transport.publish(uniqueName('any'), [makeEvent()])
    const refused = expect(publishing).rejects.toMatchObject({
      code: expect.stringMatching(/closed|unavailable/),
    })
    await expect.poll(() => troubles().length).toBeGreaterThan(0)
    const start = Date.now()
    await transport.close()
    expect(Date.now() - start).toBeLessThan(15_000)
    expect(await receiving).toEqual([])
    await refused
  })

  it.each([
    ['nothing listens there', { port: '1' }, /nothing listens at 127.0.0.1 port 1 \(ECONNREFUSED\)/],
    [
      'the user is refused',
      { username: 'nobody', password: PASSWORD },
      /user 'nobody' was refused \(ACCESS_REFUSED\)/,
    ],
    ['the virtual host is refused', { pathname: '/none' }, /virtual host 'none' was refused/],
    ['the host is not known', { hostname: 'nowhere.invalid' }, /host 'nowhere.invalid' is not known/],
  ])('at the start %s: it says so, and no password', async (_, wrong, says) => {
    const at = new URL(url)
    at.password = PASSWORD
    if (!('username' in wrong)) at.password = new URL(url).password
    Object.assign(at, wrong)
    const refused = desk.transport(at.href)
    await expect(refused).rejects.toMatchObject({ code: 'unavailable' })
    await expect(refused).rejects.toThrow(says)
    await expect(refused).rejects.not.toThrow(new RegExp(`${PASSWORD}|guest:guest`))
  })

  it('at the start something else listens there: it says so', async () => {
    const server = createServer((socket) =>
      socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as { port: number }
    await expect(desk.transport(`amqp://127.0.0.1:${port}`)).rejects.toMatchObject({
      message: expect.stringContaining(`127.0.0.1 port ${port}`),
      fix: expect.stringMatching(/host and port/),
    })
  })

  it('no fact ever holds the credentials', () => {
    const told = JSON.stringify(
      desk.facts.map((fact) => ({ ...fact, said: String('error' in fact && fact.error) })),
    )
    expect(told).not.toContain('guest')
    expect(desk.facts.length).toBeGreaterThan(0)
  })

  it('closed, it says so', async () => {
    const transport = await desk.transport()
    await transport.close()
    await transport.close()
    await expect(transport.publish(uniqueName('any'), [makeEvent()])).rejects.toMatchObject({
      code: 'closed',
    })
    await expect(transport.subscribe(desk.subscription())).rejects.toMatchObject({ code: 'closed' })
  })
})
