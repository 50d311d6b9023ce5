import { parseArgs } from 'node:util'
import type { Bench, OpenBench } from './bench.ts'
import { type Race, runPlan } from './harness.ts'
import { BATCH, BYTES } from './load.ts'
import { keep, type Report, reportOf, show } from './report.ts'

const BENCHES: Readonly<Record<string, () => Promise<{ open: OpenBench }>>> = {
  embedded: () => import('./embedded/index.ts'),
  rabbitmq: () => import('./rabbitmq/index.ts'),
  kafka: () => import('./kafka/index.ts'),
}

const USAGE = `Usage: npm run bench -- ${Object.keys(BENCHES).join('|')} [options]

  --rounds N   measured rounds, after one to warm up (5)
  --events N   events in each heat
  --race NAME  only races whose name holds this
  --only NAME  only the contender of this name, beside the raw loop ('raw': that one alone)
  --short      tiny: everything is counted and held to, and nothing about the time is
  --write      keep the results: bench/results/<bench>.json and the table in bench/README.md`

export interface Options {
  readonly rounds?: number
  readonly events?: number
  readonly short?: boolean
  readonly race?: string
  readonly only?: string
}

/** Throws where an event went missing or a promised count was exceeded; a slow run is no error. */
export const runBench = async (
  name: string,
  { rounds, events, short = false, race = '', only = '' }: Options,
  say: (line: string) => void,
): Promise<Report> => {
  const { open } = await BENCHES[name]!()
  const bench: Bench = await open()
  try {
    const sizes = {
      events: events ?? (short ? 300 : bench.events),
      bytes: BYTES,
      batch: BATCH,
      window: bench.window,
    }
    const plan = { rounds: rounds ?? (short ? 1 : 5), events: sizes.events, probes: bench.probes, say }
    const races = bench.races.filter((each) => each.name.includes(race)).map((each) => narrowed(each, only))
    const result = await runPlan({ ...plan, races })
    const versions = { node: process.versions.node, ...bench.versions }
    return reportOf(name, { rounds: plan.rounds, sizes, versions }, result)
  } finally {
    await bench.close()
  }
}

const narrowed = ({ name, contenders: [raw, ...ours] }: Race, only: string): Race => ({
  name,
  contenders: [raw, ...ours.filter((each) => only === '' || each.name === only)],
})

class UsageError extends Error {}

const whole = (name: string, text: string | undefined): { [name: string]: number } => {
  if (text === undefined) return {}
  if (!/^[1-9]\d*$/.test(text)) throw new UsageError(`--${name} needs a whole number, not '${text}'`)
  return { [name]: Number(text) }
}

const main = async (args: readonly string[]): Promise<void> => {
  const { values, positionals } = readArgs(args)
  if (values.help) return console.log(USAGE)
  const [name, ...more] = positionals
  if (name === undefined || !Object.hasOwn(BENCHES, name) || more.length > 0) {
    throw new UsageError(name === undefined ? 'which one?' : `there is no bench '${positionals.join(' ')}'`)
  }
  const partial = values.race !== undefined || values.only !== undefined
  if (values.write && (values.short || partial)) throw new UsageError('--write keeps whole runs only')
  const { short, race, only } = values
  const options = {
    short,
    ...whole('rounds', values.rounds),
    ...whole('events', values.events),
    ...(race !== undefined && { race }),
    ...(only !== undefined && { only }),
  }
  const report = await runBench(name, options, (line) => console.error(line))
  console.log(`\n${show(report)}`)
  if (!short && !partial) console.log(`\nkept in ${await keep(report, values.write)}`)
}

const readArgs = (args: readonly string[]) => {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  try {
    return parseArgs({
      args: [...args],
      options: { rounds: text, events: text, race: text, only: text, short: flag, write: flag, help: flag },
      allowPositionals: true,
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

if (import.meta.main) {
  try {
    await main(process.argv.slice(2))
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(`bench: ${error.message}\n\n${USAGE}`)
    process.exitCode = 2
  }
}
