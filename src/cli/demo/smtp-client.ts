import { connect } from 'node:net'
import { linesOf } from './smtp-server.ts'

export interface Mail {
  readonly id: string
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** Shaped like the errors of the well-known mail clients, so that it is classified as theirs are. */
class MailRefused extends Error {
  override readonly name = 'MailRefused'
  readonly responseCode: number
  readonly command: string

  constructor(response: string, command: string) {
    super(response)
    this.responseCode = Number(response.slice(0, 3))
    this.command = command
  }
}

/** Sends one mail over a connection of its own. Rejects with what the server or the network said. */
export const sendMail = async (port: number, mail: Mail, signal: AbortSignal): Promise<void> => {
  const socket = connect({ port, host: '127.0.0.1' })
  const stop = () => socket.destroy(signal.reason as Error)
  signal.addEventListener('abort', stop, { once: true })
  const lines = linesOf(socket)

  const hear = async (after: string, wanted: string): Promise<void> => {
    for (;;) {
      const { value: line, done } = await lines.next()
      if (done) throw Object.assign(new Error('the mail server hung up'), { code: 'ECONNRESET' })
      if (line[3] === '-') continue
      if (!line.startsWith(wanted)) throw new MailRefused(line, after)
      return
    }
  }
  const ask = async (command: string, wanted: string): Promise<void> => {
    socket.write(`${command}\r\n`)
    await hear(command.split(' ')[0]!, wanted)
  }

  try {
    signal.throwIfAborted()
    await hear('CONN', '220')
    await ask('EHLO demo', '250')
    await ask('MAIL FROM:<todo@example.org>', '250')
    await ask(`RCPT TO:<${mail.to}>`, '250')
    await ask('DATA', '354')
    await ask(`${textOf(mail)}\r\n.`, '250')
    socket.write('QUIT\r\n')
  } finally {
    signal.removeEventListener('abort', stop)
    socket.destroySoon()
  }
}

/** A line that begins with a dot gets another one: a dot alone ends the mail. */
const textOf = ({ id, to, subject, text }: Mail): string =>
  [`Message-ID: <${id}>`, `To: ${to}`, `Subject: ${subject}`, '', text].join('\r\n').replace(/^\./gm, '..')
