import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** Whatever became of them: none of these processes is left. */
export const endAll = async (children: readonly ChildProcess[]): Promise<void> => {
  await Promise.all(
    children.map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }),
  )
}
