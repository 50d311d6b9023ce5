import { chownSync, mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { aptInstall } from './apt.ts'
import { freePorts } from './ports.ts'
import { firstProgram, launch, onPath, run, untilAnswer } from './processes.ts'
import type { Server, Started } from './server.ts'

const BREW = ['/opt/homebrew/opt', '/usr/local/opt']

/** Its `home` is the folder of its programs. With passwords, so that a wrong one is refused as elsewhere. */
export const postgres: Server = {
  name: 'postgres',
  env: 'REPRIEVE_TEST_POSTGRES',

  async find() {
    const home = places().find((folder) => firstProgram([join(folder, 'initdb')]) && programIn(folder))
    if (home === undefined) return undefined
    const version = /\) (\d[\w.]*)/.exec(await run(programIn(home)!, ['--version']))?.[1] ?? '?'
    return { home, version, how: 'installed' }
  },

  async get() {
    await aptInstall(['postgresql'])
    const found = await postgres.find()
    if (!found) throw new Error('postgresql was installed, but is in none of its usual places')
    return { ...found, how: 'fetched' }
  },

  async start(program, dir, started) {
    const [port] = (await freePorts(1)) as [number]
    await makePostgres(program.home, dir)
    return startPostgres(program.home, dir, port, started)
  },

  async ping(url) {
    const { Client } = (await import('pg')).default
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      const { rows } = await client.query<{ server_version: string }>('SHOW server_version')
      return rows[0]?.server_version.split(' ')[0]
    } finally {
      await client.end().catch(() => {})
    }
  },
}

export async function makePostgres(home: string, dir: string): Promise<void> {
  const data = join(dir, 'data')
  const secret = join(dir, 'password')
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(secret, 'postgres\n', { mode: 0o600 })
  const as = await otherThanRoot([dir, data, secret])
  const login = ['-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${secret}`]
  const [initdb, ...made] = [...as, join(home, 'initdb'), '-D', data, ...login, ...FORMAT] as const
  await run(initdb!, made, { cwd: dir, env: environment() })
}

/** On a port of the caller's choice, so that it can be started again where it was; more settings as `name=value`. */
export async function startPostgres(
  home: string,
  dir: string,
  port: number,
  started: Started,
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  const as = await otherThanRoot([])
  const data = ['-D', join(dir, 'data')]
  const [server, ...args] = [...as, programIn(home)!, ...data, ...listening(port, settings)] as const
  const pid = launch(dir, server!, args, environment())
  started(pid, 'SIGINT') // at SIGTERM it would wait until every client has gone
  const url = `postgres://postgres:postgres@127.0.0.1:${port}/postgres`
  await untilAnswer(() => postgres.ping(url), pid)
  return url
}

const FORMAT = ['-E', 'UTF8', '--no-locale', '-N']

/** No socket in a folder: its path may be too long for one. */
const listening = (port: number, settings: Readonly<Record<string, string>>): string[] =>
  Object.entries({ listen_addresses: '127.0.0.1', port, unix_socket_directories: '', ...settings }).flatMap(
    ([name, value]) => ['-c', `${name}=${value}`],
  )

const programIn = (folder: string): string | undefined => firstProgram([join(folder, 'postgres')])

/** Debian keeps each version in a folder of its own and off the PATH; the newest comes first. */
function places(): string[] {
  const debian = versionsIn('/usr/lib/postgresql', /^\d+$/).map((folder) => join(folder, 'bin'))
  const linked = ['initdb', 'pg_ctl'].flatMap((name) => onPath(name) ?? [])
  const brew = BREW.flatMap((folder) => versionsIn(folder, /^postgresql(@\d+)?$/))
  return [
    ...debian,
    ...linked.map((path) => dirname(realpathSync(path))),
    ...brew.map((folder) => join(folder, 'bin')),
  ]
}

function versionsIn(folder: string, shape: RegExp): string[] {
  try {
    const names = readdirSync(folder).filter((name) => shape.test(name))
    return names.sort((a, b) => b.localeCompare(a, 'en', { numeric: true })).map((name) => join(folder, name))
  } catch {
    return []
  }
}

/** PostgreSQL refuses to run as root: then it runs as the user that its package made, who must own its files. */
async function otherThanRoot(paths: readonly string[]): Promise<string[]> {
  if (process.getuid?.() !== 0) return []
  const [uid, gid] = await Promise.all(['-u', '-g'].map(async (flag) => Number(await idOf(flag))))
  for (const path of paths) chownSync(path, uid!, gid!)
  return ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
}

async function idOf(flag: string): Promise<string> {
  try {
    return await run('id', [flag, 'postgres'])
  } catch {
    throw new Error("it does not run as root, and there is no user 'postgres'")
  }
}

/** Nothing of what PG… variables may say about another server. */
const environment = (): NodeJS.ProcessEnv => ({ PATH: process.env.PATH, LC_ALL: 'C' })
