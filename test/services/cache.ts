import { mkdirSync, statSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { say } from './say.ts'

const SEAL = 'seal.json'

/** Kept between runs. The XDG rule: a relative XDG_CACHE_HOME is to be ignored. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  const base =
    env.XDG_CACHE_HOME && isAbsolute(env.XDG_CACHE_HOME) ? env.XDG_CACHE_HOME : join(homedir(), '.cache')
  const folder = join(base, 'reprieve', 'services')
  mkdirSync(folder, { recursive: true })
  return folder
}

/**
 * Does `work` while no other process of this user does work of that name. The lock is SQLite's lock on a
 * file: it ends with its process, however that ends, so there is never a stale one to judge.
 */
export async function alone<T>(name: string, work: () => Promise<T>): Promise<T> {
  const db = new DatabaseSync(join(cacheFolder(), `${name}.lock`))
  try {
    for (let tries = 0; !locked(db); tries++) {
      if (tries === 10) say(`waiting for another process that does '${name}'`)
      await sleep(100)
    }
    return await work()
  } finally {
    db.close()
  }
}

function locked(db: DatabaseSync): boolean {
  try {
    db.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === 5) return false // SQLITE_BUSY
    throw error
  }
}

/**
 * Makes `folder` whole or not at all: `fill` works beside it, the files are sealed with their sizes, and a
 * rename puts them in place. Call it inside `alone`: then any part found beside it is a dead run's leftover.
 */
export async function place(folder: string, fill: (part: string) => Promise<void>): Promise<void> {
  const home = dirname(folder)
  for (const name of await readdir(home)) {
    if (name.startsWith(`${basename(folder)}.part-`))
      await rm(join(home, name), { recursive: true, force: true })
  }
  const part = `${folder}.part-${process.pid}`
  await mkdir(part)
  try {
    await fill(part)
    await seal(part)
    await rm(folder, { recursive: true, force: true })
    await rename(part, folder)
  } finally {
    await rm(part, { recursive: true, force: true })
  }
}

export async function seal(folder: string): Promise<void> {
  const sizes: Record<string, number> = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && entry.name !== SEAL) sizes[path.slice(folder.length + 1)] = (await stat(path)).size
  }
  await writeFile(join(folder, SEAL), JSON.stringify(sizes, null, 2))
}

export async function intact(folder: string): Promise<boolean> {
  try {
    const sizes = JSON.parse(await readFile(join(folder, SEAL), 'utf8')) as Record<string, number>
    return Object.entries(sizes).every(([file, size]) => statSync(join(folder, file)).size === size)
  } catch {
    return false
  }
}
