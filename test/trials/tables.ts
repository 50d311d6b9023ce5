import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kept, keptResults } from './results.ts'

/**
 * Writes what the last run of the trials showed into each adapter's README, between the two marks.
 * With --check it writes nothing, and ends with 1 where a README tells something else.
 */
const ADAPTERS = ['memory', 'sqlite', 'rabbitmq', 'kafka', 'postgres', 'redis'] as const
const BEGIN = '<!-- trials:begin -->'
const END = '<!-- trials:end -->'
const HOUSE = join(import.meta.dirname, '../../src/adapters')

const MEANING: Readonly<Record<string, string>> = {
  later: 'the longest wait it keeps by itself',
  late: 'how late a due parcel may come by design',
  order: 'order by key: over any number of workers, only by owning a queue or partition, or none',
  lease: 'a delivery can run out and go to another worker while its holder lives',
  except: 'it can skip single types of a subscription',
  claims: 'it keeps the ledger in the same database',
  patterns: 'it can subscribe to a beginning of topic names',
  fresh: 'fresh ones come before retries, which have a fifth, however many wait',
  urgent: 'urgent events come before all others that are ready',
  unheard: 'what becomes of an event published where nobody is subscribed',
}

const table = ({ can, results }: Kept): string => {
  const of = (is: string) => results.filter((result) => result.is === is)
  const skipped = Map.groupBy(of('skipped'), ({ reason }) => reason ?? '')
  const lines = [
    ...capabilities(can),
    `Of ${results.length} trials it passes ${of('passed').length}${count(', fails ', of('failed').length)}${count(', skips ', of('skipped').length)}.`,
    '',
    ...section('Fails', of('failed')),
    ...[...skipped].flatMap(([reason, trials]) => section(`Skips: ${reason}`, trials)),
    ...section('Passes', of('passed')),
  ]
  return lines.join('\n').trimEnd()
}

const capabilities = (can: Kept['can']): readonly string[] => {
  const lines = Object.entries(can).map(([name, value]) => `- \`${name}\`: **${value}** (${MEANING[name]})`)
  return lines.length === 0 ? [] : ['What it can:', '', ...lines, '']
}

const count = (words: string, number: number): string => (number ? words + number : '')

const section = (title: string, trials: Kept['results']): readonly string[] =>
  trials.length === 0
    ? []
    : [
        '<details>',
        `<summary>${title} (${trials.length})</summary>`,
        '',
        ...trials.map(({ name }) => `- ${name}`),
        '',
        '</details>',
        '',
      ]

const between = (text: string, content: string): string | undefined => {
  const from = text.indexOf(BEGIN)
  const to = text.indexOf(END)
  if (from < 0 || to < from) return undefined
  return `${text.slice(0, from + BEGIN.length)}\n${content}\n${text.slice(to)}`
}

const check = process.argv.includes('--check')
let wrong = 0
const say = (adapter: string, what: string, isWrong = false): void => {
  if (isWrong) wrong++
  console.log(`${adapter}: ${what}`)
}

for (const adapter of ADAPTERS) {
  const path = join(HOUSE, adapter, 'README.md')
  const kept = keptResults(adapter)
  if (!existsSync(path)) say(adapter, 'has no README.md', true)
  else if (!kept) say(adapter, 'its trials were not run here: nothing to compare with')
  else {
    const before = readFileSync(path, 'utf8')
    const after = between(before, table(kept))
    if (after === undefined) say(adapter, `its README.md lacks ${BEGIN} and ${END}`, true)
    else if (after === before) say(adapter, 'is up to date')
    else if (check) say(adapter, 'its README.md tells something else: node test/trials/tables.ts', true)
    else {
      writeFileSync(path, after)
      say(adapter, 'written')
    }
  }
}
process.exitCode = wrong > 0 ? 1 : 0
