import { appendFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Context, Permanent, reprieve, Transient } from '../../../src/index.ts'
import { hearing } from '../heard.ts'
import { callDownstream } from './downstream.ts'
import { dependentType, failuresOf, fateOf, isDependent } from './fate.ts'

/**
 * One worker. Its effects and attempts are lines in a file of its own, known to nobody in Reprieve, and what must become of
 * an event is written in its number: so the count at the end is independent.
 */
const [, , transport, store, record, slowness] = process.argv as [
  string,
  string,
  string,
  string,
  string,
  string,
]
const here = dirname(fileURLToPath(import.meta.url))

const hear = hearing()
const app = await reprieve({
  rules: join(here, 'rules.yaml'),
  transport,
  store,
  journal: (fact) => {
    if (fact.is === 'trouble' && fact.about && fact.where.startsWith('settling')) {
      appendFileSync(record, `unanswered ${fact.about.event}\n`)
    }
    hear(fact)
  },
})

const handle = async (event: { id: string; data: { n: number } }, ctx: Context) => {
  const { n } = event.data
  appendFileSync(record, `attempt ${event.id} ${ctx.attempt}\n`)
  await new Promise((resolve) => setTimeout(resolve, Math.random() * Number(slowness)))
  if (isDependent(n)) await ctx.call('crm', (signal) => callDownstream(process.env.CHAOS_DOWNSTREAM!, signal))
  if (fateOf(n) === 'refused') throw new Permanent('no use in trying')
  if (fateOf(n) === 'exhausted' || ctx.attempt <= failuresOf(n)) throw new Transient('not now')
  appendFileSync(record, `effect ${event.id}\n`)
}
const type = process.env.CHAOS_TYPE!
app.service(process.env.CHAOS_SERVICE!).on(type, handle).on(dependentType(type), handle)

await app.start()
process.send?.('ready')
process.once('SIGTERM', () => void app.close(20_000).then(() => process.exit(0)))
