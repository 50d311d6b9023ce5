// One contender in a process of its own: runs a heat for each message, until its parent lets go of it.

import type { Bench } from './bench.ts'
import { BENCHES } from './benches.ts'
import type { Reply } from './entrants.ts'
import { type Heading, runHeat } from './harness.ts'

const [name = '', race = '', contender = '', anew = ''] = process.argv.slice(2)
const { open } = await BENCHES[name]!()
let bench: Bench | undefined

const reply = async (heading: Heading): Promise<Reply> => {
  try {
    bench ??= await open()
    const found = bench.races
      .find((each) => each.name === race)
      ?.contenders.find((each) => each.name === contender)
    if (!found) return { error: `there is no '${contender}' in '${race}' of ${name}` }
    const lap = await runHeat(found, heading)
    if (anew) await close()
    return { lap }
  } catch (error) {
    return { error: (error as Error).stack ?? String(error) }
  }
}

const close = async (): Promise<void> => {
  const opened = bench
  bench = undefined
  await opened?.close()
}

process.on('message', async (heading: Heading) => process.send?.(await reply(heading)))
process.on('disconnect', async () => {
  await close()
  process.exit()
})
