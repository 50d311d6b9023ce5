/** What holds senders up. It may last for hours: whoever gives up waiting leaves nothing behind, least of all what he would have sent. */
export interface Hold {
  /** Resolves when it is over, or nobody wants to wait any more. */
  over(signal: AbortSignal): Promise<void>
  end(): void
}

export const createHold = (): Hold => {
  const waiters = new Set<() => void>()
  return {
    over: (signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve()
        const leave = (): void => {
          waiters.delete(leave)
          signal.removeEventListener('abort', leave)
          resolve()
        }
        waiters.add(leave)
        signal.addEventListener('abort', leave)
      }),
    end: () => {
      for (const leave of waiters) leave()
    },
  }
}
