/** Resolves with the first SIGINT or SIGTERM, and keeps the process alive until then. The second one ends it at once. */
export const untilSignal = (): Promise<void> =>
  new Promise((resolve) => {
    const alive = setInterval(() => {}, 2 ** 30)
    let asked = false
    const ask = () => {
      if (asked) process.exit(130)
      asked = true
      clearInterval(alive)
      resolve()
    }
    process.on('SIGINT', ask)
    process.on('SIGTERM', ask)
  })
