import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endAll } from '../ended.ts'

const here = dirname(fileURLToPath(import.meta.url))

export interface CrewOptions {
  readonly folder: string
  readonly transport: string
  readonly store: string
  readonly service: string
  readonly type: string
  /** The longest that a handler takes. */
  readonly slowness: number
  /** The dependency of some, which is down at first. */
  readonly downstream: string
}

/** The workers of a run: real processes, which join, leave in good order, or are killed. */
export interface Crew {
  /** How many work now. */
  readonly size: number
  /** How many were ever started. */
  readonly started: number
  join(): Promise<void>
  /** The newest leaves, and what it has not finished goes to the others. Resolves with how long that took. */
  leave(): Promise<number>
  /** The oldest is killed by SIGKILL. */
  kill(): Promise<void>
  close(): Promise<void>
}

export const openCrew = (options: CrewOptions): Crew => {
  const { folder, transport, store, service, type, slowness, downstream } = options
  const started: ChildProcess[] = []
  const working: ChildProcess[] = []
  return {
    get size() {
      return working.length
    },
    get started() {
      return started.length
    },
    join: async () => {
      const record = join(folder, `record-${started.length}.log`)
      const child = fork(join(here, 'worker.ts'), [transport, store, record, String(slowness)], {
        env: { ...process.env, CHAOS_TYPE: type, CHAOS_SERVICE: service, CHAOS_DOWNSTREAM: downstream },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      })
      started.push(child)
      await Promise.race([
        once(child, 'message'),
        once(child, 'exit').then(() => Promise.reject(new Error('a worker could not start'))),
      ])
      working.push(child)
    },
    leave: async () => {
      const child = working.pop()!
      const began = Date.now()
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
      return Date.now() - began
    },
    kill: async () => {
      const child = working.shift()!
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
    close: () => endAll(started),
  }
}
