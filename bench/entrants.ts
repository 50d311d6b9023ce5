import { fork } from 'node:child_process'
import { join } from 'node:path'
import { type Contender, type Entrant, type Lap, runHeat } from './harness.ts'

/** In this process: quick to begin, and good enough to count. */
export const here = (contender: Contender): Entrant => ({
  ...contender,
  lap: (heading) => runHeat(contender, { ...heading, rest: 0 }),
  end: async () => {},
})

export interface Whereabouts {
  readonly bench: string
  readonly race: string
  /** What the child must know of the servers. */
  readonly env: Readonly<Record<string, string>>
  /** It opens the bench for each heat, and closes it after. */
  readonly anew: boolean
}

export type Reply = { readonly lap: Lap } | { readonly error: string }

/**
 * In a process of its own, for all its heats, as a service would be: what one contender leaves behind, garbage and
 * what the compiler learned of it, is in nobody else's way.
 */
export const apart = (contender: Contender, { bench, race, env, anew }: Whereabouts): Entrant => {
  const args = [bench, race, contender.name, ...(anew ? ['anew'] : [])]
  const child = fork(join(import.meta.dirname, 'child.ts'), args, {
    env: { ...process.env, ...env },
    execArgv: process.execArgv,
  })
  return {
    ...contender,
    lap: (heading) =>
      new Promise((resolve, reject) => {
        const gone = (code: number | null) =>
          reject(new Error(`${contender.name}: its process ended (${code})`))
        child.once('exit', gone)
        child.once('message', (reply: Reply) => {
          child.off('exit', gone)
          if ('lap' in reply) resolve(reply.lap)
          else reject(new Error(reply.error))
        })
        child.send(heading)
      }),
    end: async () => {
      if (!child.connected) return
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.disconnect()
      await ended
    },
  }
}
