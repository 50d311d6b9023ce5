import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A wire that a test can disturb: the same server, through a port of ours. */
export interface FaultProxy {
  /** The target's URL (or host:port) with our port in it. */
  readonly url: string
  readonly port: number
  /** How many connections clients keep to it now. */
  readonly open: number
  /** How many ever did. */
  readonly accepted: number
  /** Ends every connection, as a broken network would. */
  cut(): void
  /** Cuts again and again, after each so many milliseconds, until it is admitted. */
  cutEvery(ms: number): void
  /** Refuses new connections until it is admitted again. */
  refuse(): void
  /** Half-open: connections stay and are taken, nothing comes through, and the end of the server is not told. */
  freeze(): void
  /** Lets through what is asked, and nothing of what is answered. */
  deafen(): void
  /** Holds up each piece by up to so many milliseconds; what was sent first arrives first. */
  delay(most: number, roll?: () => number): void
  /** All is well again. What was swallowed stays swallowed: cut, if the protocol can't live with that. */
  admit(): void
  close(): Promise<void>
}

/** Which way bytes go: what the client asked, or what the server answered. */
export type Way = 'asked' | 'answered'

/** Sees all bytes of one connection in order. What it returns goes on; with `cut` the connection ends after it. */
export type Tap = (bytes: Buffer, way: Way) => { readonly pass: Buffer; readonly cut: boolean }

export interface ProxyOptions {
  /** A port of your choice, for servers that tell clients where to connect. */
  readonly port?: number
  /** Made anew for each connection. */
  readonly tap?: () => Tap
}

interface Pair {
  readonly near: Socket
  readonly far: Socket
}

export const openProxy = async (
  target: string,
  { port = 0, tap }: ProxyOptions = {},
): Promise<FaultProxy> => {
  const plain = !target.includes('://')
  const to = new URL(plain ? `tcp://${target}` : target)
  const pairs = new Set<Pair>()
  let accepted = 0
  let refusing = false
  let frozen = false
  let deaf = false
  let longest = 0
  let dice = Math.random
  let cutting: NodeJS.Timeout | undefined

  const server = createServer((near) => {
    if (refusing) return void near.destroy()
    accepted++
    near.setNoDelay(true)
    const far = connect({ port: Number(to.port), host: to.hostname, noDelay: true })
    const pair: Pair = { near, far }
    const see = tap?.()
    pairs.add(pair)
    const ways = [
      { from: near, into: slowly(far), way: 'asked' },
      { from: far, into: slowly(near), way: 'answered' },
    ] as const
    for (const { from, into, way } of ways) {
      from.on('data', (bytes: Buffer) => {
        if (frozen || (deaf && way === 'answered')) return
        const { pass, cut } = see ? see(bytes, way) : { pass: bytes, cut: false }
        into(pass, longest === 0 ? 0 : dice() * longest)
        if (!cut) return
        // its neighbour must have what was let pass: an end, not a reset
        if (way === 'asked') far.end()
        else near.end()
        from.destroy()
      })
      from.on('error', () => {}) // told by 'close' as well
      from.on('close', () => {
        if (frozen) return
        end(pair)
      })
    }
  })

  const end = (pair: Pair): void => {
    pairs.delete(pair)
    for (const socket of [pair.near, pair.far]) if (!socket.writableEnded) socket.destroy()
  }
  const cut = (): void => {
    for (const { near, far } of pairs) {
      near.destroy()
      far.destroy()
    }
    pairs.clear()
  }

  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const ours = (server.address() as AddressInfo).port
  const url = new URL(to)
  url.hostname = '127.0.0.1'
  url.port = String(ours)

  return {
    url: plain ? `127.0.0.1:${ours}` : url.href,
    port: ours,
    get open() {
      return [...pairs].filter(({ near }) => !near.destroyed).length
    },
    get accepted() {
      return accepted
    },
    cut,
    cutEvery: (ms) => {
      clearInterval(cutting)
      cutting = setInterval(cut, ms)
    },
    refuse: () => {
      refusing = true
    },
    freeze: () => {
      frozen = true
    },
    deafen: () => {
      deaf = true
    },
    delay: (most, roll = Math.random) => {
      longest = most
      dice = roll
    },
    admit: () => {
      clearInterval(cutting)
      refusing = frozen = deaf = false
      longest = 0
      for (const pair of pairs) if (pair.near.destroyed || pair.far.destroyed) end(pair)
    },
    close: async () => {
      clearInterval(cutting)
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Writes in the order of the calls, each piece at the earliest after its wait. */
const slowly = (socket: Socket): ((bytes: Buffer, wait: number) => void) => {
  const held: { bytes: Buffer; due: number }[] = []
  let writing = false
  const write = (): void => {
    writing = false
    while (held.length > 0 && held[0]!.due <= performance.now()) {
      const { bytes } = held.shift()!
      if (!socket.destroyed) socket.write(bytes)
    }
    if (held.length > 0) later(held[0]!.due - performance.now())
  }
  const later = (wait: number): void => {
    writing = true
    setTimeout(write, Math.max(1, wait))
  }
  return (bytes, wait) => {
    if (bytes.length === 0) return
    if (held.length === 0 && wait === 0) return void (socket.destroyed || socket.write(bytes))
    held.push({ bytes, due: performance.now() + wait })
    if (!writing) later(wait)
  }
}
