import { appendFileSync } from 'node:fs'
import { type Context, Permanent, reprieve, Transient } from '../../../src/index.ts'
import { callDownstream } from '../broker/downstream.ts'
import { dependentType, failuresOf, fateOf, isDependent } from '../broker/fate.ts'
import { hearing } from '../heard.ts'

/** What one worker of a storm is told. */
export interface Orders {
  readonly transport: string
  readonly store: string
  readonly rules: string
  readonly service: string
  readonly type: string
  /** A file of its own: a line for every attempt, every effect before the handler returns, every settlement that got no answer. */
  readonly record: string
  /** Handlers take up to so many milliseconds. */
  readonly slow: number
  /** The dependency of some, which is down at first. */
  readonly downstream: string
}

const orders = JSON.parse(process.argv[2]!) as Orders

const hear = hearing()
const app = await reprieve({
  rules: orders.rules,
  transport: orders.transport,
  store: orders.store,
  journal: (fact) => {
    if (fact.is === 'trouble' && fact.about && fact.where.startsWith('settling')) {
      appendFileSync(orders.record, `unanswered ${fact.about.event}\n`)
    }
    hear(fact)
  },
})

const handle = async (event: { id: string; data: { n: number } }, ctx: Context) => {
  const { n } = event.data
  appendFileSync(orders.record, `attempt ${event.id} ${ctx.attempt}\n`)
  await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * orders.slow))
  if (isDependent(n)) await ctx.call('crm', (signal) => callDownstream(orders.downstream, signal))
  if (fateOf(n) === 'refused') throw new Permanent('no use in trying')
  if (fateOf(n) === 'exhausted' || ctx.attempt <= failuresOf(n)) throw new Transient('not now')
  appendFileSync(orders.record, `effect ${event.id}\n`)
}
app.service(orders.service).on(orders.type, handle).on(dependentType(orders.type), handle)

await app.start()
process.send?.('ready')
// whoever started it is gone: nobody would ever end it
process.once('disconnect', () => process.exit(1))
// what it has begun it may end: an effect that is not remembered would happen again
process.once('SIGTERM', () => void app.close(30_000).then(() => process.exit(0)))
