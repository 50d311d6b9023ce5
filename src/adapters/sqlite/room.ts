import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Clock, Tools } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'
import { type Bells, bellsOf } from './bells.ts'
import { type File, openFile } from './file.ts'
import { forgetting } from './forgetting.ts'
import { type Subscriptions, subscriptionsOf } from './subscriptions.ts'
import type { Place } from './url.ts'
import { type Writer, writerOf } from './writer.ts'

/** What all that is opened on one file shares. */
export interface Room {
  readonly file: File
  readonly writer: Writer
  readonly bells: Bells
  readonly subscriptions: Subscriptions
  readonly clock: Clock
  readonly poll: Millis
}

interface Shared {
  readonly room: Promise<Omit<Room, 'poll'>>
  users: number
}

/** One writer per file in a process, however often it is opened. Another clock is another world, as in tests. */
const rooms = new WeakMap<Clock, Map<string, Shared>>()

/** Enters the room of a file; it is closed when as many have left as entered. */
export const enter = async (place: Place, tools: Tools): Promise<Room & { leave(): Promise<void> }> => {
  const path = pathOf(place.path)
  const known = rooms.get(tools.clock) ?? new Map<string, Shared>()
  rooms.set(tools.clock, known)
  const shared = known.get(path) ?? { room: build(place.path, tools), users: 0 }
  known.set(path, shared)
  shared.users++
  const leave = async (): Promise<void> => {
    if (--shared.users > 0) return
    known.delete(path)
    const { writer, file } = await shared.room
    await writer.close()
    file.drop()
  }
  try {
    return { ...(await shared.room), poll: place.poll, leave }
  } catch (error) {
    await leave().catch(() => {}) // why it could not be opened is what counts
    throw error
  }
}

const build = async (path: string, tools: Tools): Promise<Omit<Room, 'poll'>> => {
  const file = await openFile(path, tools)
  const subscriptions = subscriptionsOf(file)
  const tidy = forgetting(file, tools.clock)
  const writer = writerOf(file, tools, { tidy, undone: subscriptions.forget })
  return { file, writer, bells: bellsOf(tools.clock), subscriptions, clock: tools.clock }
}

/** The same for every way to write it, links followed, whether the file is there yet or not. */
const pathOf = (path: string): string => {
  const whole = resolve(path)
  try {
    return realpathSync(whole)
  } catch {
    try {
      return join(realpathSync(dirname(whole)), basename(whole))
    } catch {
      return whole
    }
  }
}
