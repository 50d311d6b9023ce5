import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { cacheFolder } from './cache.ts'
import { alive, end, type Process } from './processes.ts'
import type { How } from './server.ts'

/**
 * A server that we started. With an owner it ends with its owner: a test run's, or one that is not ready
 * yet. Without one it stays up until `down`.
 */
export interface Entry {
  readonly name: string
  readonly env: string
  readonly version: string
  readonly how: How
  readonly dir: string
  readonly since: string
  readonly processes: readonly Process[]
  readonly owner?: Process
  /** There once it has answered. */
  readonly url?: string
}

/** What we started and have not stopped: one small file each, so that runs at the same time never meet. */
export interface Roster {
  list(): Entry[]
  write(entry: Entry): void
  strike(entry: Entry): void
}

export function openRoster(
  folder = process.env.REPRIEVE_SERVICES_STATE || join(cacheFolder(), 'up'),
): Roster {
  mkdirSync(folder, { recursive: true })
  const file = (entry: Entry) => join(folder, `${basename(entry.dir)}.json`)
  return {
    list() {
      const names = readdirSync(folder).filter((name) => name.endsWith('.json'))
      return names.sort().flatMap((name) => read(join(folder, name)))
    },
    write(entry) {
      writeFileSync(`${file(entry)}.part`, JSON.stringify(entry, null, 2))
      renameSync(`${file(entry)}.part`, file(entry))
    },
    strike(entry) {
      rmSync(file(entry), { force: true })
    },
  }
}

function read(path: string): Entry[] {
  try {
    return [JSON.parse(readFileSync(path, 'utf8')) as Entry]
  } catch {
    return [] // struck by its owner between our look and our read
  }
}

/** Ends its processes, last started first, then removes its folder. Safe to do twice. */
export async function stop(entry: Entry, roster: Roster): Promise<void> {
  for (const process of entry.processes.toReversed()) await end(process)
  await rm(entry.dir, { recursive: true, force: true, maxRetries: 5 })
  roster.strike(entry)
}

/** Stops what dead owners left behind: a run that was killed could not clean up. */
export async function sweep(roster: Roster): Promise<void> {
  const orphans = roster.list().filter((entry) => entry.owner && !alive(entry.owner))
  await Promise.all(orphans.map((entry) => stop(entry, roster)))
}
