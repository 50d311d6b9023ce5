import { type ChildProcess, fork } from 'node:child_process'
import { systemClock } from '../adapters/system/clock.ts'
import { systemDice } from '../adapters/system/dice.ts'
import { delayOf } from '../core/backoff.ts'
import type { Backoff } from '../core/policy.ts'
import type { Millis } from '../core/time.ts'
import type { ExitCode } from './failure.ts'
import { beatOf, SUPERVISED, type Word } from './supervised.ts'

export interface Supervision {
  /** A child that shows no sign of life for so long is replaced. */
  readonly stuckAfter: Millis
  readonly tell: (text: string) => void
}

/** A message that kills its process does so three times: those come soon. A process that can't live comes seldom. */
const BACKOFF: Backoff = {
  kind: 'exponential',
  initial: 200,
  multiplier: 2,
  max: 30_000,
  firstExponent: 0,
  jitter: { kind: 'half' },
}
/** Whoever lived so long has not died of its start. */
const LONG_LIFE: Millis = 60_000

interface Life {
  /** It was loaded and opened, and began to serve. */
  readonly served: boolean
  /** One of its services has started; all have. */
  readonly begun: boolean
  readonly started: boolean
  /** It said that it would end. */
  readonly meant: boolean
  readonly code: number | null
  readonly how: string
  readonly lasted: Millis
}

/**
 * Starts this command once more as a child that does the work, and another whenever one dies. The first signal asks the
 * child to drain, the second ends it at once.
 */
export const supervise = async ({ stuckAfter, tell }: Supervision): Promise<ExitCode> => {
  const dice = systemDice()
  const leaving = new AbortController()
  let current: { child: ChildProcess; served: boolean } | undefined
  let signals = 0
  const onSignal = (name: NodeJS.Signals): void => {
    signals++
    leaving.abort()
    if (signals > 1) current?.child.kill('SIGKILL')
    // whoever still loads hears no words
    else if (current?.served && current.child.connected) current.child.send('drain' satisfies Word)
    else current?.child.kill(name)
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)

  const live = (): Promise<Life> =>
    new Promise((resolve, reject) => {
      const began = Date.now()
      const child = fork(process.argv[1]!, process.argv.slice(2), {
        stdio: 'inherit',
        env: { ...process.env, [SUPERVISED]: '1' },
      })
      const life = { child, served: false }
      current = life
      let begun = false
      let started = false
      let meant = false
      let killed = ''
      // counted in looks of our own rather than in time: a machine that slept was not stuck
      let missed = 0
      const looking = setInterval(() => {
        if (!life.served || ++missed * beatOf(stuckAfter) < stuckAfter) return
        killed = `gave no sign of life for ${stuckAfter} ms and was ended`
        child.kill('SIGKILL')
      }, beatOf(stuckAfter))
      child.on('message', (word: Word) => {
        missed = 0
        if (word === 'serving') life.served = true
        if (word === 'begun') begun = true
        if (word === 'started') started = true
        if (word === 'ended') meant = true
      })
      child.on('error', reject)
      child.on('exit', (code, signal) => {
        clearInterval(looking)
        current = undefined
        const how = killed || (signal ? `died of ${signal}` : `ended with code ${code}`)
        resolve({ served: life.served, begun, started, meant, code, how, lasted: Date.now() - began })
      })
    })

  let deaths = 0
  let everServed = false
  let everBegun = false
  let everStarted = false
  for (;;) {
    const { served, begun, started, meant, code, how, lasted } = await live()
    everServed ||= served
    everBegun ||= begun
    everStarted ||= started
    if (signals > 1) return 130
    if (signals > 0) return asExitCode(code)
    // used wrongly, the next one would be too; of what is wrong out there that is said only while nothing has ever run
    const hopeless = code === 2 ? !everStarted : !everBegun
    if (meant ? code === 0 || hopeless : !everServed) return asExitCode(code)
    deaths = lasted >= LONG_LIFE ? 1 : deaths + 1
    const delay = delayOf(BACKOFF, deaths, dice.next)
    tell(`the process that does the work ${how}: another one in ${delay} ms`)
    await systemClock.sleep(delay, leaving.signal)
    if (leaving.signal.aborted) return 0
  }
}

/** Without a code it was ended by a signal. */
const asExitCode = (code: number | null): ExitCode => (code ?? 130) as ExitCode
