import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A wire that a test can cut: the same URL, through a port of ours. */
export interface Wire {
  readonly url: string
  /** Ends every connection, as a broken network would. */
  cut(): void
  /** Refuses new connections until it is let in again. */
  refuse(): void
  /** Keeps connections open and lets nothing through. */
  freeze(): void
  /** Lets through what is asked, and nothing of what is answered. */
  deafen(): void
  admit(): void
  close(): Promise<void>
}

export const openWire = async (target: string): Promise<Wire> => {
  const to = new URL(target)
  const sockets = new Set<Socket>()
  let refusing = false
  let frozen = false
  let deaf = false
  const server = createServer((near) => {
    if (refusing) return void near.destroy()
    const far = connect(Number(to.port), to.hostname)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('data', (bytes) => {
        if (!frozen && !(deaf && one === far)) other.write(bytes)
      })
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: url.href,
    cut,
    refuse: () => {
      refusing = true
    },
    freeze: () => {
      frozen = true
    },
    deafen: () => {
      deaf = true
    },
    admit: () => {
      refusing = frozen = deaf = false
    },
    close: async () => {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}
