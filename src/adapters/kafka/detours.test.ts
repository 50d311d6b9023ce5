import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import * as client from '@platformatic/kafka'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../system/clock.ts'
import { type Admin, checkRelease } from './client.ts'
import { answerIn, type Detours, goRound, lapsesOf } from './detours.ts'

/** Takes connections and answers nothing, as a broker does whose process is stopped. Real ones: sick.test.ts. */
const silent = async () => {
  const sockets: Socket[] = []
  const server: Server = createServer((socket) => {
    socket.on('error', () => {})
    sockets.push(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return { at: `127.0.0.1:${port}`, sockets }
}

const speaksMetadata = {
  [client.kListApis]: (callback: (error: null, apis: unknown) => void) =>
    callback(null, [{ apiKey: 3, name: 'Metadata', minVersion: 12, maxVersion: 12 }]),
} as unknown as Admin

const detours = (over: Partial<Detours> = {}): Detours => ({
  client,
  clock: systemClock,
  lapses: lapsesOf(),
  limit: () => 50,
  apis: speaksMetadata,
  ...over,
})

const adminOf = (brokers: readonly string[], by: Detours) => {
  const options = { clientId: 'test', bootstrapBrokers: [...brokers], requestTimeout: 20_000 }
  const admin = goRound(new client.Admin({ ...options, retries: 0 }), by)
  onTestFinished(() => admin.close())
  return admin
}

describe('the way round a broker', () => {
  it('that is silent begins with the next question, whoever asks it', async () => {
    const [one, two] = [await silent(), await silent()]
    const by = detours()
    const first = adminOf([one.at, two.at], by)
    const asked = () => [one.sockets.length, two.sockets.length]
    const since = Date.now()
    for (const expected of [
      [1, 0],
      [1, 1],
      [2, 1],
      [2, 2],
    ]) {
      await expect(first.metadata({ topics: [], forceUpdate: true })).rejects.toThrow('within 50 ms')
      await expect.poll(asked).toEqual(expected)
    }
    // not for as long as its connections wait
    expect(Date.now() - since).toBeLessThan(5_000)
    by.lapses.note({ host: '127.0.0.1', port: Number(one.at.split(':')[1]) })
    const second = adminOf([one.at, two.at], by)
    await expect(second.metadata({ topics: [] })).rejects.toThrow('within 50 ms')
    expect(asked()).toEqual([2, 3])
  })

  it('is taken for some requests only: others wait as long as they have to', async () => {
    const one = await silent()
    const admin = adminOf([one.at], detours({ limit: () => undefined }))
    const asking = admin.metadata({ topics: [] }).catch(() => 'given up')
    expect(await Promise.race([asking, systemClock.sleep(300)])).toBeUndefined()
  })
})

describe('a broker that dies while we sign on', () => {
  /** Gives so many answers, each that it speaks nothing in particular, and is gone with the next question. */
  const dyingAfter = async (answers: number) => {
    const server = createServer((socket) => {
      let asked = 0
      socket.on('error', () => {})
      socket.on('data', (request) => {
        if (asked++ === answers) return void socket.resetAndDestroy()
        const answer = Buffer.alloc(18)
        answer.writeInt32BE(14)
        request.copy(answer, 4, 8, 12) // the question that it belongs to
        socket.write(answer)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    return `127.0.0.1:${(server.address() as { port: number }).port}`
  }

  it.each([0, 1])('fails whoever asks, and ends no process: after %i answers', async (answers) => {
    const thrown: unknown[] = []
    process.setUncaughtExceptionCaptureCallback((error) => void thrown.push(error))
    onTestFinished(() => process.setUncaughtExceptionCaptureCallback(null))
    const options = { clientId: 'test', bootstrapBrokers: [await dyingAfter(answers)], retries: 0 }
    const sasl = { mechanism: 'PLAIN', username: 'ann', password: 'secret' } as const
    const admin = goRound(new client.Admin({ ...options, sasl }), detours())
    onTestFinished(() => admin.close())
    const gone = once(admin, 'client:broker:disconnect')
    await expect(admin.metadata({ topics: [] })).rejects.toThrow('Cannot connect to any broker')
    await gone
    await new Promise((resolve) => setImmediate(resolve))
    expect(thrown).toEqual([])
  })
})

describe('an answer about topics', () => {
  const answerWith = (topic: number, partition: number): unknown => {
    const numbers = (to: client.Writer, ...ids: number[]) =>
      to.appendArray(ids, (each, id) => each.appendInt32(id), true, false)
    const bytes = client.Writer.create()
      .appendInt32(0)
      .appendArray([1], (to, id) => to.appendInt32(id).appendString('h').appendInt32(9092).appendString(null))
      .appendString('cluster')
      .appendInt32(1)
      .appendArray(['orders'], (to, name) => {
        to.appendInt16(topic).appendString(name).appendUUID(null).appendBoolean(false)
        to.appendArray([0, partition], (each, code, index) => {
          each
            .appendInt16(code)
            .appendInt32(index!)
            .appendInt32(code === 5 ? -1 : 1)
            .appendInt32(0)
          numbers(each, 1)
          numbers(each, 1)
          numbers(each)
        })
        to.appendInt32(0)
      })
      .appendTaggedFields()
    try {
      return client.metadataV12.parseResponse(1, 3, 12, client.Reader.from(bytes.dynamicBuffer))
    } catch (error) {
      return error
    }
  }

  it.each([5, 9, 72])('is one though a partition has the code %i', (code) => {
    expect(answerIn(answerWith(0, code))).toMatchObject({
      topics: [{ name: 'orders', partitions: [{ leaderId: 1 }, { errorCode: code }] }],
    })
  })

  it('is none where a topic is at fault, or nobody answered', () => {
    expect(answerIn(answerWith(3, 0))).toBeUndefined()
    expect(answerIn(answerWith(3, 5))).toBeUndefined()
    expect(answerIn(new Error('Connection closed'))).toBeUndefined()
  })
})

it('a release of the client that has not what we reach into it for is refused, with one that has', () => {
  expect(() => checkRelease(client)).not.toThrow()
  const { kGetApi: _, ...another } = client
  expect(() => checkRelease(another)).toThrow(
    /has no kGetApi\n {2}fix: npm install @platformatic\/kafka@2\.12/,
  )
})
