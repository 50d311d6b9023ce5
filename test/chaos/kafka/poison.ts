import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reprieve } from '../../../src/index.ts'
import { type Heats, isDecided, median } from '../fair.ts'

export interface PoisonResult {
  /** Events a second, the median of the rounds. */
  readonly without: number
  readonly with: number
  readonly ratio: number
}

/**
 * How fast the others of a partition are worked off with poison in front of them: one event that fails every time
 * and one whose handler hangs, against the same without. By turns, so that both meet the same machine; where the ratio is
 * too small there are more of them, and all count.
 */
export const poisonRace = async (
  brokers: string,
  events: number,
  heats: Heats = { heats: 5, mostHeats: 15 },
): Promise<PoisonResult> => {
  const rates: Record<'without' | 'with', number[]> = { without: [], with: [] }
  for (let round = 0; ; round++) {
    for (const turn of round % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)) {
      rates[turn].push(await oneRun(brokers, events, turn === 'with'))
    }
    const [without, poisoned] = [median(rates.without), median(rates.with)]
    const ratio = poisoned / without
    if (isDecided(round + 1, ratio, heats)) {
      return { without: Math.round(without), with: Math.round(poisoned), ratio }
    }
  }
}

const RULES = `version: 1
policies:
  hurried: { backoff: exponential, initial: 100ms, multiplier: 2, max: 1s, jitter: half, retries: 5, window: 5m }
defaults: { concurrency: 40, window: 200, lease: 10s, policy: hurried, timeout: 30s }
`

/** Long against what the machine does beside it, so that the wait sets the pace and not the noise. */
const HANDLING = 100

const oneRun = async (brokers: string, events: number, poisoned: boolean): Promise<number> => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-poison-'))
  const rules = join(folder, 'rules.yaml')
  writeFileSync(rules, RULES)
  const type = `poison.${randomUUID().slice(0, 8)}`
  const app = await reprieve({
    rules,
    transport: `kafka://${brokers}?partitions=1`,
    store: `sqlite:${join(folder, 'store.db')}`,
    office: false,
  })
  const all = Promise.withResolvers<void>()
  const end = new AbortController()
  let began = 0
  let done = 0
  app.service(`svc-${type}`).on(type, async (event) => {
    const { kind } = event.data as { kind: string }
    if (kind === 'bad') throw new Error('it always fails')
    if (kind === 'hung')
      return new Promise<void>((resolve) => end.signal.addEventListener('abort', () => resolve()))
    began ||= performance.now()
    await new Promise((resolve) => setTimeout(resolve, HANDLING))
    if (++done === events) all.resolve()
  })
  try {
    if (poisoned) for (const kind of ['bad', 'hung']) await app.publish(type, { kind })
    for (let n = 0; n < events; n += 500) {
      const some = Array.from({ length: Math.min(500, events - n) }, () =>
        app.publish(type, { kind: 'good' }),
      )
      await Promise.all(some)
    }
    await app.start()
    await all.promise
    return (events * 1000) / (performance.now() - began)
  } finally {
    end.abort()
    await app.close(5_000)
    rmSync(folder, { recursive: true, force: true })
  }
}
