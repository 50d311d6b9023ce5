import { ATTEMPTS, type Call, FAILURES, type Guarded, INITIAL, OPEN, TIMEOUT, type Work } from './calls.ts'

interface Out {
  readonly until: number
  readonly reject: (error: Error) => void
}

const SWEEP = 50

/**
 * The loop a competent engineer would write by hand: tries in a loop, counts failures in a row, and sweeps deadlines
 * with one timer for all calls rather than one for each. It hands out no signal, and keeps no counts.
 */
export const byHand = (): Guarded => {
  let failures = 0
  let openUntil = 0
  const out = new Set<Out>()

  const sweep = setInterval(() => {
    const now = Date.now()
    for (const each of out) {
      if (each.until > now) continue
      out.delete(each)
      each.reject(new Error('timed out'))
    }
  }, SWEEP).unref()

  const within = (work: Work): Promise<number> =>
    new Promise((resolve, reject) => {
      const each = { until: Date.now() + TIMEOUT, reject }
      out.add(each)
      work().then(
        (value) => {
          out.delete(each)
          resolve(value)
        },
        (error) => {
          out.delete(each)
          reject(error)
        },
      )
    })

  const call: Call = async (work) => {
    for (let attempt = 1; ; attempt++) {
      if (failures >= FAILURES && Date.now() < openUntil) throw new Error('the breaker is open')
      try {
        const value = await within(work)
        failures = 0
        return value
      } catch (error) {
        if (++failures >= FAILURES) openUntil = Date.now() + OPEN
        if (attempt === ATTEMPTS) throw error
        const delay = INITIAL * 2 ** (attempt - 1) * Math.random()
        await new Promise((resolve) => setTimeout(resolve, delay))
      }
    }
  }

  return { call, close: () => clearInterval(sweep) }
}
