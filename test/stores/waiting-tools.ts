import { type TestTools, testTools } from '../../src/testing/tools.ts'

/** The patience of an adapter, in its URL: who sleeps for so long waits for a server, and for nothing else. */
export const PATIENCE = 599_999

/**
 * Tools in virtual time for an adapter that asks a real server, with that patience: while a question is under way time stands
 * still, so that answers come in no time however long they take.
 */
export const waitingTools = (): TestTools => {
  let asking = 0
  const tools = testTools({ busy: () => asking > 0 })
  const answered = (signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      asking++
      const end = () => {
        asking--
        resolve()
      }
      if (signal?.aborted) end()
      else signal?.addEventListener('abort', end, { once: true })
    })
  const { clock } = tools
  return {
    ...tools,
    clock: {
      ...clock,
      sleep: (ms, signal) => (ms === PATIENCE ? answered(signal) : clock.sleep(ms, signal)),
      get sleepers() {
        return clock.sleepers
      },
    },
  }
}
