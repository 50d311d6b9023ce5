import { appendFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { reprieve, Transient } from '../../src/index.ts'

/**
 * A worker with a batch handler. Its effect is a line for each event in a file of its own; it tells its parent when a
 * batch is half done, and takes its time over the rest, so that it can be killed right there.
 */
const [, , transport, effects] = process.argv as [string, string, string, string]
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const app = await reprieve({ rules: fileURLToPath(new URL('batches.yaml', import.meta.url)), transport })

app.service('chaos-svc').onBatch('chaos.batch', async (events) => {
  const answers: (Error | undefined)[] = []
  for (const [i, { id }] of events.entries()) {
    if (i === Math.floor(events.length / 2)) {
      process.send?.(`half ${events.length}`)
      await pause(20)
    }
    if (id === 'killer') process.exit(9)
    const failed = Math.random() < 0.05
    if (!failed) appendFileSync(effects, `${id}\n`)
    answers.push(failed ? new Transient('not now') : undefined)
  }
  return answers
})

await app.start()
process.send?.('ready')
