// One contender in a process of its own: runs a heat for each message, until its parent lets go of it.

import { BENCHES } from './benches.ts'
import type { Reply } from './entrants.ts'
import { type Heading, runHeat } from './harness.ts'

const [name = '', race = '', contender = ''] = process.argv.slice(2)
const { open } = await BENCHES[name]!()
const bench = await open()
const found = bench.races
  .find((each) => each.name === race)
  ?.contenders.find((each) => each.name === contender)

const reply = async (heading: Heading): Promise<Reply> => {
  if (!found) return { error: `there is no '${contender}' in '${race}' of ${name}` }
  try {
    return { lap: await runHeat(found, heading) }
  } catch (error) {
    return { error: (error as Error).stack ?? String(error) }
  }
}

process.on('message', async (heading: Heading) => process.send?.(await reply(heading)))
process.on('disconnect', async () => {
  await bench.close()
  process.exit()
})
