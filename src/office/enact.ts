import type { Audit, Post } from '../contracts/audit.ts'
import type { Board } from '../contracts/board.ts'
import type { Act } from '../core/audit.ts'
import type { Instant } from '../core/time.ts'

/** Writes what an operator orders, and that he did. */
export type Enact = (act: Act, posts: readonly Post[]) => Promise<void>

/** Where board and audit are one store: one commit. */
export const enactTogether =
  (audit: Audit): Enact =>
  async (act, posts) => {
    await audit.append(act, posts)
  }

/**
 * Where the board is another store no commit holds both. The intent is written first, so that nothing is ever done without
 * an entry, and how it ended after; an intent without an end is of somebody who died in between: it may have been done.
 */
export const enactApart =
  (audit: Audit, board: Board, now: () => Instant): Enact =>
  async (act, posts) => {
    const { details } = act
    const { seq } = await audit.append({ ...act, count: 0, details: { ...details, step: 'intent' } })
    try {
      for (const { entry, value, ttl } of posts) await board.post(entry, value, ttl)
    } catch (error) {
      const { name, code } = error as Error & { code?: unknown }
      const unsure = {
        ...details,
        step: 'unsure',
        intent: seq,
        error: typeof code === 'string' ? code : name,
      }
      await audit.append({ ...act, at: now(), count: 0, details: unsure })
      throw error
    }
    await audit.append({ ...act, at: now(), details: { ...details, step: 'done', intent: seq } })
  }

/** For a board that no audit goes with, as in tests. */
export const enactUnwritten =
  (board: Board): Enact =>
  async (_, posts) => {
    for (const { entry, value, ttl } of posts) await board.post(entry, value, ttl)
  }
