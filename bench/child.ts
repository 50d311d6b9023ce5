// One contender in a process of its own: runs a heat for each message, until its parent lets go of it.

import { BENCHES } from './benches.ts'
import type { Reply } from './entrants.ts'
import { runHeat } from './harness.ts'

interface Asked {
  readonly events: number
  readonly lead: number
}

const [name = '', race = '', contender = ''] = process.argv.slice(2)
const { open } = await BENCHES[name]!()
const bench = await open()
const found = bench.races
  .find((each) => each.name === race)
  ?.contenders.find((each) => each.name === contender)

const reply = async ({ events, lead }: Asked): Promise<Reply> => {
  if (!found) return { error: `there is no '${contender}' in '${race}' of ${name}` }
  try {
    return { lap: await runHeat(found, events, lead) }
  } catch (error) {
    return { error: (error as Error).stack ?? String(error) }
  }
}

process.on('message', async (asked: Asked) => process.send?.(await reply(asked)))
process.on('disconnect', async () => {
  await bench.close()
  process.exit()
})
