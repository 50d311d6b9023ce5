import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from '../services/ports.ts'
import { makePostgres, postgres, startPostgres } from '../services/postgres.ts'
import { alive, end, identify, type Process } from '../services/processes.ts'
import { redis, startRedis } from '../services/redis.ts'
import type { Started } from '../services/server.ts'

/** A server that belongs to one test: it may be killed, and started again on the same port with the same files. */
export interface OwnServer {
  readonly url: string
  start(): Promise<void>
  /** By SIGKILL: nothing is said and nothing is saved. */
  kill(): Promise<void>
  /** Keeps its connections and answers nobody. */
  freeze(): void
  thaw(): void
  close(): Promise<void>
}

/** undefined where the program is not on this machine: then tests have to do with the server that they are told of. */
export const ownRedis = async (
  settings: Readonly<Record<string, string>> = {},
): Promise<OwnServer | undefined> => {
  const program = await redis.find()
  return (
    program &&
    ownServer('redis', (dir, port, started) => startRedis(program.home, dir, port, started, settings))
  )
}

export const ownPostgres = async (): Promise<OwnServer | undefined> => {
  const program = await postgres.find()
  if (!program) return undefined
  let made = false
  return ownServer('postgres', async (dir, port, started) => {
    if (!made) await makePostgres(program.home, dir)
    made = true
    // its children notice the death of their parent a moment later, and hold its memory until then
    for (let tries = 0; ; tries++) {
      try {
        return await startPostgres(program.home, dir, port, started)
      } catch (error) {
        if (tries === 20) throw error
        await sleep(250)
      }
    }
  })
}

const ownServer = async (
  name: string,
  boot: (dir: string, port: number, started: Started) => Promise<string>,
): Promise<OwnServer> => {
  const dir = mkdtempSync(join(tmpdir(), `reprieve-own-${name}-`))
  const [port] = (await freePorts(1)) as [number]
  let server: Process | undefined
  const start = async (): Promise<string> =>
    boot(dir, port, (pid, ask) => {
      server = identify(pid, ask)
    })
  const signal = (what: NodeJS.Signals): void => {
    if (server && alive(server)) process.kill(server.pid, what)
  }
  const url = await start()
  return {
    url,
    start: async () => void (await start()),
    kill: async () => {
      signal('SIGKILL')
      while (server && alive(server)) await sleep(5)
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    close: async () => {
      signal('SIGCONT')
      if (server) await end(server)
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
