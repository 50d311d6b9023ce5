// One contender in a process of its own: runs a heat for each message, until its parent lets go of it.

import { BENCHES } from './benches.ts'
import type { Reply } from './entrants.ts'
import { runHeat } from './harness.ts'

const [name = '', race = '', contender = ''] = process.argv.slice(2)
const { open } = await BENCHES[name]!()
const bench = await open()
const found = bench.races
  .find((each) => each.name === race)
  ?.contenders.find((each) => each.name === contender)

const reply = async (events: number): Promise<Reply> => {
  if (!found) return { error: `there is no '${contender}' in '${race}' of ${name}` }
  try {
    return { lap: await runHeat(found, events) }
  } catch (error) {
    return { error: (error as Error).stack ?? String(error) }
  }
}

process.on('message', async ({ events }: { events: number }) => process.send?.(await reply(events)))
process.on('disconnect', async () => {
  await bench.close()
  process.exit()
})
