import { createServer, type Socket } from 'node:net'

/** A mail server for the demo: it speaks enough SMTP for a client, keeps what it took, and has bad days on request. */
export interface MailServer {
  readonly port: number
  /** How often each mail was taken, by its Message-ID. */
  readonly taken: ReadonlyMap<string, number>
  close(): Promise<void>
}

/** What goes wrong with a connection or a recipient; undefined: nothing does. */
export type Mishap = { readonly reply: string } | 'reset' | 'hang' | undefined

export interface Weather {
  greeting(): Mishap
  recipient(address: string): Mishap
}

export const openMailServer = async (weather: Weather): Promise<MailServer> => {
  const taken = new Map<string, number>()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // a client that goes away in the middle is no concern of ours
    socket.on('error', () => {})
    // nor one whose talk ends in an error: it is the weather
    void converse(socket, weather, (id) => taken.set(id, (taken.get(id) ?? 0) + 1)).catch(() => {})
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    taken,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

const converse = async (socket: Socket, weather: Weather, take: (id: string) => void): Promise<void> => {
  const answer = (text: string) => socket.write(`${text}\r\n`)
  /** Whether the conversation goes on with the next command. */
  const suffer = (mishap: Mishap, otherwise: string): boolean => {
    if (mishap === 'hang') return true
    if (mishap === 'reset') socket.resetAndDestroy()
    else answer(mishap?.reply ?? otherwise)
    return mishap !== 'reset'
  }
  const greeting = weather.greeting()
  if (!suffer(greeting, '220 demo ESMTP')) return
  if (greeting) return void socket.end()
  let data: string[] | undefined
  for await (const line of linesOf(socket)) {
    if (data) {
      if (line !== '.') data.push(line)
      else {
        take(idOf(data))
        data = undefined
        answer('250 taken')
      }
      continue
    }
    const [verb = ''] = line.toUpperCase().split(' ')
    if (verb === 'EHLO' || verb === 'HELO') answer('250 demo')
    else if (verb === 'MAIL' || verb === 'RSET' || verb === 'NOOP') answer('250 ok')
    else if (verb === 'RCPT') {
      if (!suffer(weather.recipient(/<(.*)>/.exec(line)?.[1] ?? ''), '250 ok')) return
    } else if (verb === 'DATA') {
      data = []
      answer('354 end with a dot')
    } else if (verb === 'QUIT') return void socket.end('221 bye\r\n')
    else answer('502 not known')
  }
}

const idOf = (lines: readonly string[]): string => {
  const header = lines.find((line) => line.toLowerCase().startsWith('message-id:'))
  return /<(.*)>/.exec(header ?? '')?.[1] ?? ''
}

/** Both sides talk in lines. */
export async function* linesOf(socket: Socket): AsyncGenerator<string> {
  let rest = ''
  socket.setEncoding('utf8')
  for await (const chunk of socket as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\r\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}
