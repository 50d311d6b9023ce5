import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { table } from '../test/services/table.ts'
import type { Count, Result, Spread, Standing } from './harness.ts'

/** What a run leaves behind: what holds on any machine first, what this one did last. */
export interface Report {
  readonly bench: string
  readonly rounds: number
  readonly sizes: Readonly<Record<string, number>>
  readonly versions: Readonly<Record<string, string>>
  readonly ratios: readonly Ratio[]
  readonly counts: readonly Counted[]
  readonly here: readonly Rate[]
}

interface Ratio extends Spread {
  readonly race: string
  readonly contender: string
  /** The contender it is a ratio to, where that is not the raw loop. */
  readonly to?: string
  readonly aim?: number
  readonly aimsAtCpu?: true
  /** The same of processor time alone. */
  readonly cpu: Spread
}

interface Counted extends Count {
  readonly of: string
  readonly what: string
}

/** `noise`: the fastest round of a contender over its slowest. Where it is large the machine was busy. */
interface Rate extends Spread {
  readonly race: string
  readonly contender: string
  /** Timed in each heat. */
  readonly events?: number
  readonly noise: number
}

export const reportOf = (
  bench: string,
  about: Pick<Report, 'rounds' | 'sizes' | 'versions'>,
  { races, probes }: Result,
): Report => {
  const standings = races.flatMap(({ name, events, standings }) =>
    standings.map((each) => ({ race: name, events, ...each })),
  )
  return {
    bench,
    ...about,
    ratios: standings.flatMap(({ race, contender, aim, aimsAtCpu, ratio, cpu, against }) => [
      ...(ratio && cpu
        ? [
            {
              race,
              contender,
              ...(aim !== undefined && { aim }),
              ...(aimsAtCpu && { aimsAtCpu }),
              ...rounded(ratio, 3),
              cpu: rounded(cpu, 3),
            },
          ]
        : []),
      ...against.map((other) => ({
        race,
        contender,
        to: other.contender,
        aim: other.aim,
        ...rounded(other.ratio, 3),
        cpu: rounded(other.cpu, 3),
      })),
    ]),
    counts: [
      ...standings.flatMap(({ race, contender, counts }) => counted(`${race}, ${contender}`, counts)),
      ...probes.flatMap(({ name, counts }) => counted(name, counts)),
    ],
    here: standings.map(({ race, contender, events, rate }) => ({
      race,
      contender,
      events,
      ...rateOf(rate),
    })),
  }
}

const counted = (of: string, counts: Standing['counts']): Counted[] =>
  Object.entries(counts).map(([what, count]) => ({ of, what, ...count }))

const rateOf = (rate: Spread) => ({
  ...rounded(rate, 0),
  noise: Math.round((rate.max / rate.min) * 100) / 100,
})

const rounded = ({ median, min, max }: Spread, digits: number): Spread => {
  const round = (value: number) => Number(value.toFixed(digits))
  return { median: round(median), min: round(min), max: round(max) }
}

const HEAD = [
  'bench',
  'what',
  'contender',
  'ratio to raw (min – max)',
  'aim',
  'of processor time',
  'events',
  'events/s',
  'noise',
]

const rowsOf = ({ bench, ratios, here }: Report): string[][] =>
  here.map(({ race, contender, events, median, noise }) => {
    const ratio = ratios.find(
      (each) => each.race === race && each.contender === contender && each.to === undefined,
    )
    return [
      bench,
      race,
      contender,
      showSpread(ratio),
      showAim(ratio),
      showSpread(ratio?.cpu),
      events?.toLocaleString('en') ?? '',
      median.toLocaleString('en'),
      `×${noise.toFixed(2)}`,
    ]
  })

const AGAINST_HEAD = ['bench', 'what', 'contender', 'to', 'ratio (min – max)', 'aim', 'of processor time']

const againstRows = ({ bench, ratios }: Report): string[][] =>
  ratios.flatMap((ratio) =>
    ratio.to === undefined
      ? []
      : [
          [
            bench,
            ratio.race,
            ratio.contender,
            ratio.to,
            showSpread(ratio),
            showAim(ratio),
            showSpread(ratio.cpu),
          ],
        ],
  )

const showAim = (ratio: Ratio | undefined): string => {
  if (ratio?.aim === undefined) return ''
  const reached = ratio.aimsAtCpu ? ratio.cpu.median : ratio.median
  const of = ratio.aimsAtCpu ? ' of processor time' : ''
  return `${reached >= ratio.aim ? 'met' : 'missed'}: ${ratio.aim}${of}`
}

const showSpread = (spread: Spread | undefined): string =>
  spread ? `${spread.median.toFixed(2)} (${spread.min.toFixed(2)} – ${spread.max.toFixed(2)})` : ''

const countRows = ({ bench, counts }: Report): string[][] =>
  counts.map(({ of, what, most, limit }) => [
    bench,
    of,
    what,
    String(most),
    limit === undefined ? '' : String(limit),
  ])

const COUNT_HEAD = ['bench', 'of', 'counted', 'at most', 'promised']

export const show = (report: Report): string => {
  const { rounds, sizes, versions, counts } = report
  const against = againstRows(report)
  const facts = [...Object.entries({ rounds, ...sizes }), ...Object.entries(versions)]
  return [
    facts.map(([name, value]) => `${name} ${value}`).join(' · '),
    table(HEAD, rowsOf(report)),
    ...(against.length > 0 ? [table(AGAINST_HEAD, against)] : []),
    ...(counts.length > 0 ? [table(COUNT_HEAD, countRows(report))] : []),
  ].join('\n\n')
}

const RESULTS = join(import.meta.dirname, 'results')
const README = join(import.meta.dirname, 'README.md')
const SECTION = /(<!-- results -->\n)[\s\S]*?(<!-- \/results -->)/

/** Results that are kept go into the README too; the others are only this machine's own. */
export const keep = async (report: Report, write: boolean, part = false): Promise<string> => {
  const name = `${report.bench}${write ? '' : '.local'}.json`
  const path = join(RESULTS, name)
  await mkdir(RESULTS, { recursive: true })
  const whole = part ? renewed(JSON.parse(await readFile(path, 'utf8')), report) : report
  await writeFile(path, `${JSON.stringify(whole, null, 2)}\n`)
  if (write) await writeReadme()
  return `bench/results/${name}`
}

/** How many rounds the kept results of a bench had, where there are any. */
export const roundsKept = async (bench: string): Promise<number | undefined> => {
  const text = await readFile(join(RESULTS, `${bench}.json`), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as Report).rounds
}

/** The kept results with some races run again, in the same way but for how many events: all of a table is told of in one line. */
export const renewed = (kept: Report, part: Report): Report => {
  const lengths = ({ rounds, sizes: { events, ...sizes } }: Report) => JSON.stringify({ rounds, ...sizes })
  if (lengths(kept) !== lengths(part)) {
    throw new Error(
      `kept are ${lengths(kept)}, this run had ${lengths(part)}: run it alike, or run all races`,
    )
  }
  const races = new Set(part.here.map(({ race }) => race))
  const counted = new Set(part.counts.map(({ of }) => of))
  const inPlace = <T>(rows: readonly T[], again: readonly T[], raceOf: (row: T) => string): readonly T[] => [
    ...rows.flatMap((row, i) => {
      const race = raceOf(row)
      const first = rows.findIndex((each) => raceOf(each) === race) === i
      if (!races.has(race) && !counted.has(race)) return [row]
      return first ? again.filter((each) => raceOf(each) === race) : []
    }),
    ...again.filter((each) => !rows.some((row) => raceOf(row) === raceOf(each))),
  ]
  return {
    ...kept,
    versions: { ...kept.versions, ...part.versions },
    ratios: inPlace(kept.ratios, part.ratios, ({ race }) => race),
    counts: inPlace(kept.counts, part.counts, ({ of }) => of),
    here: inPlace(kept.here, part.here, ({ race }) => race),
  }
}

const writeReadme = async (): Promise<void> => {
  const files = (await readdir(RESULTS)).filter((file) => /^\w+\.json$/.test(file)).sort()
  const reports = await Promise.all(
    files.map(async (file): Promise<Report> => JSON.parse(await readFile(join(RESULTS, file), 'utf8'))),
  )
  const facts = reports.map(
    ({ bench, rounds, sizes: { events, ...sizes }, versions }) =>
      `- ${bench}: ${Object.entries({ rounds, ...sizes, ...versions })
        .map(([name, value]) => `${name} ${value}`)
        .join(', ')}`,
  )
  const text = [
    markdown(HEAD, reports.flatMap(rowsOf)),
    markdown(AGAINST_HEAD, reports.flatMap(againstRows)),
    markdown(COUNT_HEAD, reports.flatMap(countRows)),
    facts.join('\n'),
  ]
  const readme = await readFile(README, 'utf8')
  await writeFile(
    README,
    readme.replace(SECTION, (_, begin, end) => `${begin}\n${text.join('\n\n')}\n\n${end}`),
  )
}

const markdown = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
