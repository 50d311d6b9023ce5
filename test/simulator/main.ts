import { parseArgs } from 'node:util'
import { PLANTED } from '../../src/testing/simulator/planted.ts'
import { simulate } from '../../src/testing/simulator/simulate.ts'
import { tellFailure, tellLine } from '../../src/testing/simulator/tell.ts'

/**
 * `npm run simulate -- --seed N` plays one seed and shows its whole story; `--seeds 1..20000` looks for one that fails;
 * `--plant 'ack before bury'` puts that bug in.
 */
const { values } = parseArgs({
  options: { seed: { type: 'string' }, seeds: { type: 'string' }, plant: { type: 'string' } },
})

const quit = (why: string): never => {
  console.error(why)
  process.exit(2)
}
const range = values.seed ?? values.seeds ?? '1..5000'
const [from, to = from] = range.split('..').map(Number)
if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || to! < from!) {
  quit(`'${range}' names no seeds: write --seed 7 or --seeds 1..5000`)
}
const plant = PLANTED.find(({ name }) => name === values.plant)
if (values.plant !== undefined && !plant) {
  quit(
    `no planted bug has the name '${values.plant}'; there are: ${PLANTED.map(({ name }) => name).join(', ')}`,
  )
}

const began = performance.now()
let failed = 0
let steps = 0
for (let seed = from!; seed <= to!; seed++) {
  const played = await simulate(seed, plant)
  steps += played.steps
  if (from === to) for (const line of played.lines) console.log(tellLine(line))
  if (played.violations.length === 0) continue
  failed++
  const { law, what } = played.violations[0]!
  if (from === to || failed > 1) console.log(`seed ${seed} failed: ${law}: ${what}`)
  else console.log(tellFailure(played))
}
const seconds = ((performance.now() - began) / 1000).toFixed(1)
console.log(`${to! - from! + 1} seeds, ${failed} failed, ${steps} steps in ${seconds} s`)
process.exitCode = failed > 0 ? 1 : 0
