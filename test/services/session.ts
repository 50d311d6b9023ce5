import { mkdtempSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { alone } from './cache.ts'
import { alive, end, identify } from './processes.ts'
import { type Entry, openRoster, type Roster, stop, sweep } from './roster.ts'
import { reasonOf, say, withoutPassword } from './say.ts'
import type { Outcome, Program, Server } from './server.ts'

const STOPPED = 'stopped before it was ready'

export interface Session {
  /** One for each server, in order. Never rejects: what went wrong is an outcome too. */
  readonly outcomes: Promise<Outcome[]>
  /** Lets the servers outlive this process: they stay up until someone stops them by the roster. */
  release(): void
  /** Stops what this session started and did not release. A fetch under way is waited for, not cut. */
  close(): Promise<void>
}

/** Begins to bring up the servers, side by side. Should this process be killed, the next session sweeps up. */
export function openSession(
  servers: readonly Server[],
  { env = process.env, roster = openRoster() }: { env?: NodeJS.ProcessEnv; roster?: Roster } = {},
): Session {
  const owner = identify(process.pid)!
  const entries = new Map<string, Entry>()
  let closed = false

  async function bring(server: Server): Promise<Outcome> {
    const named = env[server.env]
    try {
      return named ? await askNamed(server, named) : await startTwice(server, await obtain(server))
    } catch (error) {
      return { had: false, name: server.name, env: server.env, reason: reasonOf(error) }
    }
  }

  /** Twice, for the port that another process took between our look and the server's bind. */
  async function startTwice(server: Server, program: Program): Promise<Outcome> {
    try {
      return await start(server, program)
    } catch (error) {
      if (closed) throw error
      say(`${server.name} did not start (${reasonOf(error)}), trying once more`)
      return await start(server, program)
    }
  }

  async function start(server: Server, program: Program): Promise<Outcome> {
    if (closed) throw new Error(STOPPED)
    const { name, env } = server
    const { version, how } = program
    const dir = mkdtempSync(join(tmpdir(), `reprieve-${name}-`))
    const since = new Date().toISOString()
    keep({ name, env, version, how, dir, since, processes: [], owner })
    const begun = performance.now()
    try {
      const url = await server.start(program, dir, (pid, ask) => remember(dir, pid, ask))
      const readyMs = Math.round(performance.now() - begun)
      const entry = entries.get(dir)
      if (!entry) throw new Error(STOPPED)
      keep({ ...entry, processes: entry.processes.filter(alive), url })
      return { had: true, name, env, url, version, how, readyMs }
    } catch (error) {
      if (!closed) await showLog(dir)
      await drop(dir)
      throw error
    }
  }

  function remember(dir: string, pid: number, ask?: NodeJS.Signals): void {
    const process = identify(pid, ask)
    if (!process) return // dead already
    const entry = entries.get(dir)
    if (!entry) {
      void end(process) // born after its folder was cleared away: nobody else would ever stop it
      throw new Error(STOPPED)
    }
    keep({ ...entry, processes: [...entry.processes, process] })
  }

  function keep(entry: Entry): void {
    entries.set(entry.dir, entry)
    roster.write(entry)
  }

  async function drop(dir: string): Promise<void> {
    const entry = entries.get(dir)
    entries.delete(dir)
    if (entry) await stop(entry, roster)
  }

  const outcomes = sweep(roster).then(() => Promise.all(servers.map(bring)))

  return {
    outcomes,
    release() {
      for (const { owner: _, ...entry } of entries.values()) roster.write(entry)
      entries.clear()
    },
    async close() {
      closed = true
      await Promise.all([...entries.keys()].map(drop))
      await outcomes
    },
  }
}

/** A variable that names a server is taken at its word, but must be true. */
async function askNamed(server: Server, url: string): Promise<Outcome> {
  const { name, env } = server
  const begun = performance.now()
  try {
    const version = (await server.ping(url)) ?? 'unknown'
    return { had: true, name, env, url, version, how: 'env', readyMs: Math.round(performance.now() - begun) }
  } catch (error) {
    throw new Error(`${env} names ${withoutPassword(url)}, which does not answer: ${reasonOf(error)}`)
  }
}

/** Looks again once it is alone: the process that we waited for may have fetched it. */
async function obtain(server: Server): Promise<Program> {
  return (await server.find()) ?? alone(server.name, async () => (await server.find()) ?? server.get())
}

async function showLog(dir: string): Promise<void> {
  const log = await readFile(join(dir, 'out.log'), 'utf8').catch(() => '')
  for (const line of log.trimEnd().split('\n').slice(-10)) if (line) say(`  | ${line}`)
}
