import { systemClock } from '../../../src/adapters/system/clock.ts'
import type { Clock } from '../../../src/contracts/tools.ts'
import { Permanent, reprieve, type Sql, Transient } from '../../../src/index.ts'
import { readRules } from '../../../src/rules/index.ts'
import { hearing } from '../heard.ts'
import { type Doom, doom } from './doom.ts'
import {
  LEASE,
  makeEffect,
  noteDone,
  noteIfAgain,
  openEffects,
  type Pattern,
  type Payload,
  WINDOW,
} from './effects.ts'

/** What a worker is told, as JSON in its only argument. */
export interface Orders {
  readonly transport: string
  readonly store: string
  /** The file of the user's own database. */
  readonly effects: string
  readonly pattern: Pattern
  readonly type: string
  /** One that nobody else uses: its dead letters are on the same broker. */
  readonly service: string
  readonly ledger?: { readonly store: 'redis' | 'postgres'; readonly url: string }
  /** In milliseconds; `LEASE` where nothing is said. */
  readonly lease?: number
  readonly doom?: Doom
}

const orders = JSON.parse(process.argv[2]!) as Orders
const { pattern, type, service, transport, store, ledger } = orders

const BOOK = `version: 1
policies:
  hurried: { backoff: exponential, initial: 50ms, multiplier: 2, max: 1s, jitter: half, retries: 4, window: 5m }
services:
  ${service}:
    concurrency: 20
    window: ${WINDOW}
    lease: ${orders.lease ?? LEASE}ms
    timeout: 5s
    policy: hurried
    idempotency: { pattern: ${pattern}${ledger ? `, store: ${ledger.store}` : ''} }
${ledger ? `stores: { ${ledger.store}: '${ledger.url}' }` : ''}
`

const effects = openEffects(orders.effects)
if (orders.doom) doom(orders.doom)

/** One that can be set, as a machine's can. */
let offset = 0
const clock: Clock = { now: () => systemClock.now() + offset, sleep: systemClock.sleep }
process.on('message', ({ jump }: { jump: number }) => {
  offset += jump
})

const hear = hearing()
const app = await reprieve({
  clock,
  rules: readRules(BOOK, 'reprieve.yaml', {}),
  transport,
  store,
  journal: (fact) => {
    if (fact.is === 'done' && pattern === 'dedup') noteDone(effects, fact.event)
    hear(fact)
  },
})

/** Some never succeed, some fail now and then; what ends a process is not among it. */
const mayFail = (): void => {
  const roll = Math.random()
  if (roll < 0.01) throw new Permanent('no use in trying')
  if (roll < 0.05) throw new Error('nobody knows')
  if (roll < 0.15) throw new Transient('not now')
}

app.service(service).on(type, async (event, ctx) => {
  if (pattern === 'dedup') noteIfAgain(effects, event.id)
  await new Promise((resolve) => setTimeout(resolve, 10 + Math.random() * 30))
  mayFail()
  if (pattern !== 'transaction') {
    makeEffect(effects, pattern, event.id, ctx.idempotencyKey, event.data as Payload)
    return
  }
  await ctx.tx((database: Sql) => void database.prepare('INSERT INTO effect VALUES (?)').run(event.id))
})

await app.start()
process.send?.('ready')
process.once('SIGTERM', () => void app.close(10_000).then(() => process.exit(0)))
