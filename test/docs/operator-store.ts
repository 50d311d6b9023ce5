import { open } from '../../src/adapters/sqlite/index.ts'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import { encodeData } from '../../src/core/event.ts'
import { fingerprint } from '../../src/core/fingerprint.ts'
import { type Letter, writeLetter } from '../../src/core/letter.ts'
import { extendTrail, freshTrail } from '../../src/core/trail.ts'

const MINUTE = 60_000

interface Cause {
  readonly count: number
  readonly service: string
  readonly type: string
  readonly failure: Parameters<typeof extendTrail>[1]
  readonly reason: Letter['reason']
  /** In minutes. */
  readonly ago: (n: number) => number
  readonly data: (n: number) => unknown
}

const CAUSES: readonly Cause[] = [
  {
    count: 900,
    service: 'mail-svc',
    type: 'task.created',
    failure: {
      ...{ category: 'transient', kind: 'integration', name: 'Error', because: '' },
      ...{ message: 'connect ECONNREFUSED 10.0.0.7:25', code: 'ECONNREFUSED' },
    },
    reason: 'attempts exhausted',
    // half as many again as in the hour before
    ago: (n) => (n % 5 < 3 ? 5 + (n % 40) : 75 + (n % 30)),
    data: (n) => ({ task: `t-${n}`, owner: 'ann@example.org' }),
  },
  {
    count: 200,
    service: 'payment-svc',
    type: 'payment.booked',
    failure: {
      ...{ category: 'permanent', kind: 'schema', name: 'Invalid', because: '' },
      message: "amount: expected a number, got '12,50'",
    },
    reason: 'permanent',
    ago: (n) => 5 + (n % 40),
    data: (n) => ({ payment: `p-${n}`, amount: n * 10, country: n % 3 === 0 ? 'NO' : 'DE' }),
  },
  {
    count: 60,
    service: 'search-svc',
    type: 'task.created',
    failure: {
      ...{ category: 'unknown', kind: 'handler', name: 'TypeError', because: '' },
      message: "Cannot read properties of undefined (reading 'title')",
    },
    reason: 'poison',
    ago: (n) => 3 * 24 * 60 + n,
    data: (n) => ({ task: `t-${n}` }),
  },
]

/** What the operator's page is about: letters of three causes. */
export const fillStore = async (url: string): Promise<void> => {
  const { transport, store } = await open(url, {
    clock: systemClock,
    dice: systemDice(),
    journal: () => undefined,
  })
  const now = systemClock.now()
  for (const cause of CAUSES)
    await store.letters.keep(Array.from({ length: cause.count }, (_, n) => letterOf(cause, n, now)))
  await transport.close()
  await store.close()
}

const letterOf = ({ service, type, failure, reason, ago, data }: Cause, n: number, now: number): Letter => {
  // the later ones a little later, so that the order is the same each time
  const at = now - ago(n) * MINUTE + n
  const where = { service, topic: type, consumerGroup: service, transport: 'sqlite' }
  const encoded = encodeData(data(n)) as { data: Uint8Array; datacontenttype: string }
  const event = { id: `e-${n}`, source: 'shop', type, extensions: {}, headers: {}, ...encoded }
  const parcel = { event, trail: extendTrail(freshTrail, failure, at), due: at }
  return writeLetter(parcel, where, `_${service}.deadletter`, {
    ...{ reason, failure, at, limit: 5 },
    fingerprint: fingerprint(failure, { ...where, type }),
  })
}
