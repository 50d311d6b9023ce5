import { parseArgs } from 'node:util'
import { simulate } from '../../src/testing/simulator/index.ts'
import { tellFailure } from '../../src/testing/simulator/tell.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '1..5000' },
    lines: { type: 'boolean' },
  },
})
const [from = 1, to = from] = (values.seed ?? values.seeds).split('..').map(Number)
let failed = 0
let steps = 0
const began = performance.now()
for (let seed = from; seed <= to; seed++) {
  const result = await simulate(seed)
  steps += result.steps
  if (values.lines) for (const l of result.lines) console.log(l.at, l.who, l.what)
  if (result.violations.length > 0) {
    failed++
    console.log(
      to > from && failed > 3
        ? `seed ${seed}: ${result.violations[0]!.law} ${result.violations[0]!.what}`
        : tellFailure(result),
    )
  }
}
const seconds = (performance.now() - began) / 1000
console.log(`${to - from + 1} seeds, ${failed} failed, ${steps} steps, ${seconds.toFixed(1)} s`)
process.exitCode = failed ? 1 : 0
