import { connect } from 'node:net'
import { createTransport } from 'nodemailer'
import { SMTPServer } from 'smtp-server'
import { afterEach, describe, expect, it } from 'vitest'
import { classify } from '../../core/classify.ts'
import { sendMail } from './smtp-client.ts'
import { type MailServer, type Mishap, openMailServer } from './smtp-server.ts'

const mail = { id: 'm-1', to: 'ada@example.org', subject: 'Hello', text: 'one\r\n.\r\n..two' }
const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
})

const server = async (greeting?: Mishap, recipient?: Mishap): Promise<MailServer> => {
  const opened = await openMailServer({ greeting: () => greeting, recipient: () => recipient })
  open.push(opened)
  return opened
}

const failure = async (port: number, signal = new AbortController().signal) =>
  classify(
    await sendMail(port, mail, signal).then(
      () => 'it was sent',
      (error: unknown) => error,
    ),
  )

describe('the mail server of the demo', () => {
  it('understands a well-known client', async () => {
    const { port, taken } = await server()
    const transport = createTransport({ host: '127.0.0.1', port, secure: false, ignoreTLS: true })
    const message = { from: 'a@example.org', to: 'b@example.org', text: '.\n..', messageId: '<m-7>' }
    await transport.sendMail(message)
    await transport.sendMail(message)
    transport.close()
    expect([...taken]).toEqual([['m-7', 2]])
  })

  it('has mishaps that are classified as real ones are', async () => {
    const down = await server({ reply: '421 not available' })
    expect(await failure(down.port)).toMatchObject({ category: 'transient', code: '421' })
    const closed = await server(undefined, { reply: '550 no such mailbox' })
    expect(await failure(closed.port)).toMatchObject({ category: 'permanent', code: '550' })
    const reset = await server(undefined, 'reset')
    expect(await failure(reset.port)).toMatchObject({ category: 'transient', code: 'ECONNRESET' })
    const hang = await server(undefined, 'hang')
    expect(await failure(hang.port, AbortSignal.timeout(100))).toMatchObject({ kind: 'timeout' })
    for (const { taken } of [down, closed, reset, hang]) expect(taken.size).toBe(0)
    expect(await failure(1)).toMatchObject({ category: 'transient', code: 'ECONNREFUSED' })
  })

  it('closes though a client hangs on', async () => {
    const opened = await openMailServer({ greeting: () => undefined, recipient: () => 'hang' })
    const socket = connect(opened.port, '127.0.0.1').on('error', () => {})
    await new Promise((resolve) => socket.once('data', resolve))
    await opened.close()
    socket.destroy()
  })
})

describe('the mail client of the demo', () => {
  it('is understood by a well-known server, dots and all', async () => {
    const bodies: string[] = []
    const real = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      onData: (stream, _session, done) => {
        let body = ''
        stream.on('data', (chunk: Buffer) => {
          body += chunk
        })
        stream.on('end', () => {
          bodies.push(body)
          done()
        })
      },
    })
    await new Promise<void>((resolve) => real.listen(0, '127.0.0.1', resolve))
    open.push({ close: () => new Promise<void>((resolve) => real.close(resolve)) })
    const address = real.server.address()
    await sendMail(
      typeof address === 'object' && address ? address.port : 0,
      mail,
      new AbortController().signal,
    )
    expect(bodies[0]).toContain('one\r\n.\r\n..two')
    expect(bodies[0]).toContain('Message-ID: <m-1>')
  })
})
