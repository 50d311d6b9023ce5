import { parseArgs } from 'node:util'
import type { Bench } from './bench.ts'
import { BENCHES } from './benches.ts'
import { apart, here } from './entrants.ts'
import { type Contender, type Entrant, type Race, runPlan } from './harness.ts'
import { BATCH, BYTES } from './load.ts'
import { keep, type Report, reportOf, roundsKept, show } from './report.ts'

const USAGE = `Usage: npm run bench -- ${Object.keys(BENCHES).join('|')} [options]

  --rounds N   measured rounds, after a short one to warm up (5)
  --events N   events in each heat
  --race NAME  only races whose name holds this
  --only NAME  only the contender of this name, beside the raw loop ('raw': that one alone)
  --short      tiny: everything is counted and held to, and nothing about the time is
  --write      keep the results: bench/results/<bench>.json and the table in bench/README.md; with --race those of
               these races, beside the others that are kept already`

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
  const entrants: Entrant[] = []
  const { env, anew = false } = bench
  const enter = (contender: Contender, race: string): Entrant => {
    const entrant = short ? here(contender) : apart(contender, { bench: name, race, env, anew })
    entrants.push(entrant)
    return entrant
  }
  try {
    const { window, probes } = bench
    const sizes = {
      events: events ?? (short ? 300 : bench.events),
      ...(window !== undefined && { bytes: BYTES, batch: BATCH, window }),
    }
    const measured = rounds ?? (short ? 1 : 5)
    const races = bench.races
      .filter((each) => each.name.includes(race))
      .map((each) => narrowed(each, only, enter))
    // what is counted by itself is of the whole bench, and takes its time
    const counted = race === '' ? probes : []
    const result = await runPlan({ races, probes: counted, events: sizes.events, rounds: measured, say })
    const versions = { node: process.versions.node, ...bench.versions }
    return reportOf(name, { rounds: measured, sizes, versions }, result)
  } finally {
    await Promise.all(entrants.map((entrant) => entrant.end()))
    await bench.close()
  }
}

const narrowed = (
  { contenders: [raw, ...others], ...race }: Race,
  only: string,
  enter: (contender: Contender, race: string) => Entrant,
): Race<Entrant> => {
  const chosen = others.filter((each) => only === '' || each.name === only)
  return {
    ...race,
    contenders: [enter(raw, race.name), ...chosen.map((each) => enter(each, race.name))],
  }
}

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
  if (values.write && (values.short || values.only !== undefined))
    throw new UsageError('--write keeps whole races only')
  const { short, race, only } = values
  const options = {
    short,
    ...whole('rounds', values.rounds),
    ...whole('events', values.events),
    ...(race !== undefined && { race }),
    ...(only !== undefined && { only }),
  }
  if (values.write && partial) await checkAlike(name, values.rounds)
  const report = await runBench(name, options, (line) => console.error(line))
  console.log(`\n${show(report)}`)
  if (values.write || (!short && !partial))
    console.log(`\nkept in ${await keep(report, values.write, partial)}`)
}

/** Told before it has run for minutes: races of another number of rounds can't be kept beside the others. */
const checkAlike = async (name: string, rounds: string | undefined): Promise<void> => {
  const kept = await roundsKept(name)
  if (kept === undefined) throw new UsageError(`nothing is kept of '${name}' yet: run all races of it first`)
  if (rounds !== undefined && Number(rounds) !== kept)
    throw new UsageError(`kept are ${kept} rounds: leave out --rounds ${rounds}, or run all races`)
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
