import net, { type AddressInfo } from 'node:net'
import { createTransport } from 'nodemailer'
import { SMTPServer } from 'smtp-server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { classify } from './classify.ts'

const failureOf = async (fn: () => unknown) => {
  try {
    await fn()
  } catch (error) {
    return classify(error)
  }
  throw new Error('nothing was thrown')
}

const closedPort = async (): Promise<number> => {
  const server = net.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

describe('mail', () => {
  const send = async (port: number, more: object = {}) => {
    const limits = { connectionTimeout: 200, greetingTimeout: 200, socketTimeout: 200 }
    const transport = createTransport({ host: '127.0.0.1', port, ...limits, ...more })
    try {
      await transport.sendMail({ from: 'a@example.org', to: 'b@example.org', text: 'hello' })
    } finally {
      transport.close()
    }
  }

  const server = async (answer: number | 'hang') => {
    const smtp = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onAuth: (_auth, _session, done) => done(new Error('wrong password')),
      onRcptTo(_address, _session, done) {
        if (answer !== 'hang') done(Object.assign(new Error('no'), { responseCode: answer }))
      },
    })
    smtp.on('error', () => {})
    const inner = smtp.listen(0, '127.0.0.1')
    await new Promise((resolve) => inner.once('listening', resolve))
    onTestFinished(() => new Promise<void>((resolve) => smtp.close(() => resolve())))
    return (inner.address() as AddressInfo).port
  }

  it.each([
    [421, 'transient'],
    [450, 'transient'],
    [451, 'transient'],
    [503, 'transient'],
    [550, 'permanent'],
    [554, 'permanent'],
  ] as const)('answer %i is %s, and not taken for HTTP', async (code, category) => {
    const port = await server(code)
    const failure = await failureOf(() => send(port))
    expect(failure).toMatchObject({
      category,
      kind: 'integration',
      code: String(code),
      because: `SMTP ${code} is ${category}`,
    })
    expect(failure).not.toHaveProperty('status')
  })

  it('a wrong password', async () => {
    const port = await server(550)
    expect(await failureOf(() => send(port, { auth: { user: 'a', pass: 'b' } }))).toMatchObject({
      category: 'permanent',
      kind: 'auth',
      code: '535',
    })
  })

  it('a server that hangs', async () => {
    const port = await server('hang')
    expect(await failureOf(() => send(port))).toMatchObject({
      category: 'transient',
      kind: 'timeout',
      code: 'ETIMEDOUT',
    })
  })

  it('a server that is not there', async () => {
    const port = await closedPort()
    expect(await failureOf(() => send(port))).toMatchObject({
      category: 'transient',
      kind: 'integration',
      code: 'ECONNREFUSED',
    })
  })

  it('a number alone is not a reply', () => {
    expect(classify(Object.assign(new Error('x'), { responseCode: 550 })).category).toBe('unknown')
  })
})
