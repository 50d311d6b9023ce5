import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type TLSSocket } from 'node:tls'
import { afterAll, describe, expect, it } from 'vitest'
import { hasOpenssl, makeCertificates } from '../../../test/faults/certificates.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { open } from './index.ts'
import { readTls } from './tls.ts'

describe.skipIf(!hasOpenssl)('certificates for Kafka (skipped where openssl is not on this machine)', () => {
  const dir = mkdtempSync(join(tmpdir(), 'reprieve-tls-'))
  const files = hasOpenssl ? makeCertificates(dir) : undefined!
  const [cert, key] = [join(dir, 'ours.pem'), join(dir, 'ours.key')]
  const show = (pem: string) => {
    copyFileSync(pem, cert)
    copyFileSync(pem.replace(/pem$/, 'key'), key)
  }
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  it('are read anew for each connection, so that they may be renewed while a process lives', async () => {
    const seen: string[] = []
    const { server } = files
    const tls = { cert: readFileSync(server.cert), key: readFileSync(server.key) }
    const asking = { ...tls, requestCert: true, rejectUnauthorized: false }
    const broker = createServer(asking, (socket: TLSSocket) => {
      seen.push(String(socket.getPeerCertificate().subject?.CN))
      show(files.stranger)
      socket.destroy()
    })
    await new Promise<void>((resolve) => broker.listen(0, '127.0.0.1', resolve))
    const { port } = broker.address() as AddressInfo
    show(files.client.cert)
    const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
    const url = `kafka://127.0.0.1:${port}?ca=${files.ca}&cert=${cert}&key=${key}`
    await expect(open(url, tools)).rejects.toMatchObject({ code: 'unavailable' })
    broker.close()
    expect(seen.slice(0, 2)).toEqual(['client', 'stranger'])
  })

  it('stay the last that could be read while a file is replaced', async () => {
    show(files.client.cert)
    const tls = await readTls({ cert, key })
    rmSync(cert)
    expect({ ...tls }).toEqual({
      cert: readFileSync(files.client.cert),
      key: readFileSync(files.client.key),
    })
  })
})
