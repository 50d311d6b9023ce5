import { appendFileSync } from 'node:fs'
import { Permanent, reprieve, Transient } from '../../../src/index.ts'

/** What one worker of a storm is told. */
export interface Orders {
  readonly transport: string
  readonly store: string
  readonly rules: string
  readonly service: string
  readonly type: string
  /** A file of its own; a line for every effect, written before the handler returns. */
  readonly effects: string
  /** The same for every event whose settlement was not answered, or refused. */
  readonly unanswered: string
  /** Handlers take up to so many milliseconds. */
  readonly slow: number
}

const orders = JSON.parse(process.argv[2]!) as Orders

const app = await reprieve({
  rules: orders.rules,
  transport: orders.transport,
  store: orders.store,
  journal: (fact) => {
    if (fact.is === 'trouble' && fact.about && fact.where.startsWith('settling')) {
      appendFileSync(orders.unanswered, `${fact.about.event}\n`)
    }
    if (fact.is === 'trouble' && process.env.CHAOS_LOUD) {
      console.error(process.pid, new Date().toISOString(), fact.where, fact.error.message)
    }
  },
})

app.service(orders.service).on(orders.type, async (event) => {
  await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * orders.slow))
  const roll = Math.random()
  if (roll < 0.01) throw new Permanent('no use in trying')
  if (roll < 0.04) throw new Error('nobody knows')
  if (roll < 0.15) throw new Transient('not now')
  appendFileSync(orders.effects, `${event.id}\n`)
})

await app.start()
process.send?.('ready')
// whoever started it is gone: nobody would ever end it
process.once('disconnect', () => process.exit(1))
process.once('SIGTERM', () => void app.close(5000).then(() => process.exit(0)))
