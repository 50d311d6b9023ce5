import { createBreaker, retry } from '../../src/index.ts'
import type { OpenBench } from '../bench.ts'
import { versionOf } from '../versions.ts'
import { ATTEMPTS, calling, FAILURES, type Guarded, INITIAL, OPEN, TIMEOUT } from './calls.ts'
import { byCockatiel, byOpossum, byPRetry } from './others.ts'
import { byHand } from './raw.ts'

/** At most one and a half times as long as by hand. */
const AIM = 0.67

const COCKATIEL = 'cockatiel: retry, breaker, timeout'
const OPOSSUM = 'opossum: breaker alone'

const byReprieve = (): Guarded => {
  const call = retry.with({
    policy: { initial: INITIAL, attempts: ATTEMPTS, jitter: 'full' },
    breaker: createBreaker({ failures: FAILURES, open: OPEN }),
    timeout: TIMEOUT,
  })
  return { call }
}

export const open: OpenBench = async () => ({
  events: 300_000,
  env: {},
  versions: {
    cockatiel: await versionOf('cockatiel'),
    opossum: await versionOf('opossum'),
    'p-retry': await versionOf('p-retry'),
  },
  races: [
    {
      name: 'a call that succeeds',
      contenders: [
        calling({ name: 'raw' }, byHand),
        calling({ name: 'reprieve', aim: AIM, against: { [OPOSSUM]: 1, [COCKATIEL]: 8 } }, byReprieve),
        calling({ name: COCKATIEL }, byCockatiel),
        calling({ name: OPOSSUM }, byOpossum),
        calling({ name: 'p-retry: retries alone' }, byPRetry),
        calling({ name: 'a bare await' }, () => ({ call: (work) => work() })),
      ],
    },
  ],
  probes: [],
  close: async () => {},
})
