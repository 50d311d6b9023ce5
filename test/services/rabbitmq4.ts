import { existsSync, readFileSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { aptInstall } from './apt.ts'
import { alone, cacheFolder, place } from './cache.ts'
import { onPath, run } from './processes.ts'
import { say } from './say.ts'

/** Debian's release that brings it, with the Erlang that it needs: this one 4.0, the next one 4.3. */
const RELEASE = process.env.REPRIEVE_RABBITMQ4_FROM || 'trixie'
/** What is said of a release that is still made may be out of date. */
const ANY_DATE = '--aptopt=Acquire::Check-Valid-Until "false"'
const LOCALHOST = '127.0.0.1 localhost\n'
const SOURCES = ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list']
const SERVER = '/usr/lib/rabbitmq/bin'

export interface Rabbit4 {
  /** For REPRIEVE_RABBITMQ_SERVER. */
  readonly server: string
  /** Files of a broker and of its tests must lie here: the path means the same inside and outside. */
  readonly temporary: string
}

/**
 * RabbitMQ 4 beside the 3 that this machine has: a small system of its own in a folder, which only the broker sees as its
 * root. In the cache it stays for the next time.
 */
export const getRabbit4 = async (): Promise<Rabbit4> => {
  const root = join(cacheFolder(), `rabbitmq-4-${RELEASE}`)
  const found = { server: join(root, 'outside', 'rabbitmq-server'), temporary: join(root, 'tmp') }
  return alone('rabbitmq-4', async () => {
    if (!existsSync(found.server)) await place(root, (part) => fill(part, root))
    return found
  })
}

const fill = async (part: string, root: string): Promise<void> => {
  const mirror = mirrorOf()
  if (!mirror) throw new Error('RabbitMQ 4 is taken from Debian, and this is no Debian-like system')
  if (process.getuid?.() !== 0) throw new Error('only root may change the root of a process')
  if (!onPath('mmdebstrap')) await aptInstall(['mmdebstrap'])
  say(`fetching RabbitMQ 4 of Debian ${RELEASE}, about 240 MB`)
  const include = '--include=rabbitmq-server'
  await run('mmdebstrap', [
    '--quiet',
    '--variant=minbase',
    '--mode=root',
    ANY_DATE,
    include,
    RELEASE,
    part,
    mirror,
  ])
  if (!existsSync(join(part, 'etc/hosts'))) await writeFile(join(part, 'etc/hosts'), LOCALHOST)
  // inside, the way to the root from outside leads to the root as well: so a path means the same to both
  await mkdir(join(part, dirname(root)), { recursive: true })
  await symlink('/', join(part, root))
  await mkdir(join(part, 'outside'))
  for (const program of ['rabbitmq-server', 'rabbitmqctl']) {
    const script = `#!/bin/sh\nexec chroot '${root}' '${SERVER}/${program}' "$@"\n`
    await writeFile(join(part, 'outside', program), script, { mode: 0o755 })
  }
}

const mirrorOf = (): string | undefined => {
  for (const file of SOURCES.filter(existsSync)) {
    const found = /^(?:URIs:|deb(?: \[.*?\])?)\s+(\S+)/m.exec(readFileSync(file, 'utf8'))?.[1]
    if (found) return found
  }
  return undefined
}
