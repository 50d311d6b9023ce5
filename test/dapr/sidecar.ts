import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { freePorts } from '../services/ports.ts'
import { end, identify, launch, untilAnswer } from '../services/processes.ts'

export interface Sidecar {
  readonly url: string
  log(): string
  metrics(): Promise<string>
}

/** A sidecar of this app, with these documents, that ends with the test. */
export async function startSidecar(
  program: string,
  app: { readonly id: string; readonly port: number },
  documents: Readonly<Record<string, string>>,
): Promise<Sidecar> {
  const dir = mkdtempSync(join(tmpdir(), 'reprieve-sidecar-'))
  const resources = mkdtempSync(join(dir, 'resources-'))
  for (const [name, text] of Object.entries(documents)) writeFileSync(join(resources, name), text)
  const config = join(dir, 'config.yaml')
  writeFileSync(config, configuration(join(dir, 'names.db')))
  const [http, grpc, internal, metrics] = await freePorts(4)
  const pid = launch(
    dir,
    program,
    [
      ['app-id', app.id],
      ['app-port', app.port],
      ['mode', 'standalone'],
      ['resources-path', resources],
      ['config', config],
      ['dapr-http-port', http],
      ['dapr-grpc-port', grpc],
      ['dapr-internal-grpc-port', internal],
      ['metrics-port', metrics],
      ['dapr-listen-addresses', '127.0.0.1'],
      ['dapr-internal-grpc-listen-address', '127.0.0.1'],
      ['metrics-listen-address', '127.0.0.1'],
      ['placement-host-address', ''],
      ['scheduler-host-address', ''],
    ].map(([name, value]) => `--${name}=${value}`),
    process.env,
  )
  const born = identify(pid)
  onTestFinished(async () => {
    if (born) await end(born)
    rmSync(dir, { recursive: true, force: true })
  })
  const log = () => readFileSync(join(dir, 'out.log'), 'utf8')
  const url = `http://127.0.0.1:${http}`
  try {
    await untilAnswer(async () => {
      const { ok, status } = await fetch(`${url}/v1.0/healthz`)
      if (!ok) throw new Error(`healthz says ${status}`)
    }, pid)
  } catch (error) {
    throw new Error(`the sidecar did not come up:\n${log()}`, { cause: error })
  }
  return {
    url,
    log,
    metrics: async () => (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text(),
  }
}

const configuration = (names: string): string => `apiVersion: dapr.io/v1alpha1
kind: Configuration
metadata:
  name: test
spec:
  nameResolution:
    component: sqlite
    configuration:
      connectionString: ${JSON.stringify(names)}
`

export interface App {
  readonly port: number
  /** How often this path was called so far. */
  calls(path: string): number
  /** Resolves with the body of the call number `count` to this path. */
  called(path: string, count: number): Promise<string>
}

/** An app that answers each path with a status; 200 where none is named. */
export async function startApp(answers: Readonly<Record<string, number>>): Promise<App> {
  const bodies = new Map<string, string[]>()
  const waiting: (() => void)[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      const path = request.url ?? '/'
      bodies.set(path, [...(bodies.get(path) ?? []), body])
      // asked for subscriptions and the like of its own, it has none
      const status = answers[path] ?? (path.startsWith('/dapr/') ? 404 : 200)
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
      for (const look of waiting) look()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    calls: (path) => bodies.get(path)?.length ?? 0,
    called: (path, count) =>
      new Promise((resolve) => {
        const look = () => {
          const body = bodies.get(path)?.[count - 1]
          if (body !== undefined) resolve(body)
        }
        waiting.push(look)
        look()
      }),
  }
}
