import { Permanent, Transient } from '../../src/core/errors.ts'
import type { Course } from '../ours.ts'

/** Every event fails at its first attempt and succeeds at its second. */
export const failsOnce: Course = {
  handler:
    (take) =>
    async ({ data }, { attempt }) => {
      if (attempt === 1) throw new Transient('the first attempt fails')
      await take(data)
    },
  ends: 'done',
  quiet: ['failed', 'retry'],
}

/** No event can be saved. */
export const allDie: Course = {
  handler:
    (take) =>
    async ({ data }) => {
      await take(data)
      throw new Permanent('no use in trying')
    },
  ends: 'dead',
  quiet: ['failed'],
}
