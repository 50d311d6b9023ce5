import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { alone } from './cache.ts'
import { onPath, run } from './processes.ts'
import { say } from './say.ts'

const POLICY = '/usr/sbin/policy-rc.d'
const DENY =
  '#!/bin/sh\n# put here by reprieve for the time of one install: no daemon is to start\nexit 101\n'

/** Installs Debian packages where that is allowed; throws the reason where it is not. */
export async function aptInstall(packages: readonly string[]): Promise<void> {
  const names = packages.join(' ')
  if (process.env.REPRIEVE_NO_INSTALL === '1')
    throw new Error(`not installed, and REPRIEVE_NO_INSTALL=1 forbids: apt-get install ${names}`)
  if (!existsSync('/etc/debian_version') || !onPath('apt-get')) {
    throw new Error(`not installed, and this is no Debian-like system where we could install ${names}`)
  }
  if (process.getuid?.() !== 0) throw new Error(`not installed, and only root may: apt-get install ${names}`)
  await alone('apt', async () => {
    say(`installing ${names} by apt-get (REPRIEVE_NO_INSTALL=1 forbids it)`)
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }
    const wait = ['-q', '-o', 'DPkg::Lock::Timeout=300']
    await withoutDaemons(packages, async () => {
      await run('apt-get', ['update', ...wait], { env })
      await run('apt-get', ['install', '-y', '--no-install-recommends', ...wait, ...packages], { env })
    })
  })
}

/** Debian starts what it installs. A policy-rc.d that answers 101 denies it; one that is there is not ours to change. */
async function withoutDaemons(packages: readonly string[], install: () => Promise<void>): Promise<void> {
  const there = await readFile(POLICY, 'utf8').catch(() => undefined)
  if (there !== undefined && there !== DENY) {
    for (const name of packages) {
      const denied = await run(POLICY, [name, 'start']).then(
        () => false,
        (error: Error) => error.message.includes('ended with 101'),
      )
      if (!denied)
        throw new Error(`${POLICY} lets ${name} start as a daemon: install it yourself, or deny it there`)
    }
    return install()
  }
  await writeFile(POLICY, DENY, { mode: 0o755 })
  try {
    await install()
  } finally {
    await rm(POLICY, { force: true })
  }
}
