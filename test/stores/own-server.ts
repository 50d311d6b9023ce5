import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe } from 'vitest'
import { freePorts } from '../services/ports.ts'
import { makePostgres, postgres, startPostgres } from '../services/postgres.ts'
import { alive, end, identify, type Process, run } from '../services/processes.ts'
import { redis, startRedis } from '../services/redis.ts'
import type { Started } from '../services/server.ts'
import { describeWith } from '../services/urls.ts'

/** A server that belongs to one test: it may be killed, and started again on the same port with the same files. */
export interface OwnServer {
  readonly url: string
  start(): Promise<void>
  /** By SIGKILL: nothing is said and nothing is saved. */
  kill(): Promise<void>
  close(): Promise<void>
}

const programs = { redis: await redis.find(), postgres: await postgres.find() }

/** Tests that need a server of their own. Without its program they are skipped, and their title says why. */
export const describeOwn = (service: keyof typeof programs, title: string, body: () => void): void => {
  if (programs[service]) describeWith(service, title, body)
  else describe.skip(`${title} (skipped: the program of ${service} is not on this machine)`, body)
}

export const ownRedis = (settings: Readonly<Record<string, string>> = {}): Promise<OwnServer> =>
  ownServer('redis', (dir, port, started) => startRedis(programs.redis!.home, dir, port, started, settings))

export const ownPostgres = (settings: Readonly<Record<string, string>> = {}): Promise<OwnServer> => {
  const { home } = programs.postgres!
  let made = false
  return ownServer('postgres', async (dir, port, started) => {
    if (!made) await makePostgres(home, dir)
    made = true
    return startPostgres(home, dir, port, started, settings)
  })
}

/** PostgreSQL has a process for each connection, which would go on for a moment without its parent. */
const childrenOf = async (pid: number): Promise<readonly Process[]> => {
  const pids = await run('pgrep', ['-P', String(pid)]).catch(() => '') // it ends with 1 where there are none
  return pids.split('\n').flatMap((line) => identify(Number(line)) ?? [])
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
  const url = await start()
  return {
    url,
    start: async () => void (await start()),
    kill: async () => {
      if (!server) return
      const all = [server, ...(await childrenOf(server.pid))]
      for (const each of all) if (alive(each)) process.kill(each.pid, 'SIGKILL')
      while (all.some(alive)) await sleep(5)
    },
    close: async () => {
      if (server) await end(server)
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
