import { appendFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { reprieve, Transient } from '../../../src/index.ts'
import { hearing } from '../heard.ts'

/**
 * One worker of the order test. All workers write their effects to one file, a line each, appended in one call: its
 * lines are in the order in which things happened, whoever did them.
 */
const [, , transport, store, effects] = process.argv as [string, string, string, string, string]
const slow = Number(process.env.CHAOS_SLOW)
const here = dirname(fileURLToPath(import.meta.url))

const app = await reprieve({
  rules: join(here, 'rules.yaml'),
  transport,
  store,
  office: false,
  journal: hearing(),
})

app
  .service(process.env.CHAOS_SERVICE!)
  .on(process.env.CHAOS_TYPE!, async ({ data }: { data: { key: string; n: number } }) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * slow))
    if (Math.random() < 0.15) throw new Transient('not now')
    appendFileSync(effects, `${data.key} ${data.n} ${process.pid}\n`)
  })

await app.start()
process.send?.('ready')
// whoever started it is gone: nobody would ever end it
process.once('disconnect', () => process.exit(1))
// what it has begun it may end: an effect that is not remembered would happen again
process.once('SIGTERM', () => void app.close(30_000).then(() => process.exit(0)))
