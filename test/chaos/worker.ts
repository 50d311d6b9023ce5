import { appendFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Permanent, reprieve, Transient } from '../../src/index.ts'
import { hearing } from './heard.ts'

/**
 * One worker of the crash test. Its effect is a line in a file of its own, written before the handler returns and
 * known to nobody in Reprieve: the count at the end is independent.
 */
const [, , transport, store, effects] = process.argv as [string, string, string, string, string]
const here = dirname(fileURLToPath(import.meta.url))

const app = await reprieve({
  rules: join(here, 'rules.yaml'),
  transport,
  store,
  journal: hearing(),
})

app.service(process.env.CHAOS_SERVICE!).on(process.env.CHAOS_TYPE!, async (event) => {
  await new Promise((resolve) => setTimeout(resolve, 10 + Math.random() * 60))
  const roll = Math.random()
  if (roll < 0.01) throw new Permanent('no use in trying')
  if (roll < 0.06) throw new Error('nobody knows')
  if (roll < 0.2) throw new Transient('not now')
  appendFileSync(effects, `${event.id}\n`)
})

await app.start()
process.send?.('ready')
process.once('SIGTERM', () => void app.close(5000).then(() => process.exit(0)))
