import type { Command } from 'commander'
import { loadBook } from '../book.ts'
import type { Finding } from '../contracts/doctor.ts'
import { type Examined, examine } from '../doctor.ts'
import { BadRules, emptyBook, type RuleBook } from '../rules/index.ts'
import { type Facts, type LintFinding, lint, loadFindings } from '../rules/lint/index.ts'
import { action, type Ended } from './action.ts'
import { asCount, bookFile, type Common } from './options.ts'
import { findingLines } from './print/findings.ts'
import { inert } from './print/inert.ts'
import { good, strong } from './print/paint.ts'
import { say, sayJson } from './print/say.ts'
import { isStore, schemeOf, transportFacts } from './rules/transports.ts'

interface DoctorFlags extends Common {
  readonly strict?: true
  readonly all?: true
  readonly instances?: number
}

export const registerDoctor = (program: Command): void => {
  program
    .command('doctor')
    .description('what is wrong with the broker and the stores for this rule book, and how to mend it')
    .option('--strict', 'what is risky counts as wrong')
    .option('--all', 'tell what is fine too')
    .option('--instances <count>', 'how many processes run the same service', asCount)
    .addHelpText(
      'after',
      '\nIt changes nothing and leaves nothing behind; docs/doctor.md explains each check.',
    )
    .action(action(doctor))
}

const doctor = async (flags: DoctorFlags): Promise<Ended> => {
  const { instances, board } = flags
  const transport = flags.transport || 'sqlite:reprieve.db'
  const store = flags.store || undefined
  const facts = transportFacts(transport)
  const own = store ?? (isStore(schemeOf(transport)) ? transport : 'sqlite:')
  const { book, finding } = await readBook(bookFile(flags), {
    transport: facts,
    store: schemeOf(own),
    ...(instances !== undefined && { instances }),
  })
  const places = await examine({ book, facts, transport, ...(store && { store }), ...(board && { board }) })
  const rules: Examined = { as: 'rules', url: book.file ?? 'as built in', findings: [finding] }
  const all = [rules, ...places]
  const counts = countOf(all)
  if (flags.json) sayJson({ ...counts, places: all })
  else tell(all, counts, flags.all === true)
  return counts.wrong > 0 || (flags.strict && counts.risky > 0) ? 1 : 0
}

/** A book that does not hold is told of, and what is built in is taken in its place. */
const readBook = async (
  file: string | undefined,
  facts: Facts,
): Promise<{ readonly book: RuleBook; readonly finding: Finding }> => {
  try {
    const book = await loadBook(file)
    return { book, finding: ofLint(file, lint(book, facts)) }
  } catch (error) {
    if (!(error instanceof BadRules)) throw error
    return { book: emptyBook, finding: ofLint(file, loadFindings(error)) }
  }
}

const ofLint = (file: string | undefined, found: readonly LintFinding[]): Finding => {
  const errors = found.filter(({ severity }) => severity === 'error').length
  const warnings = found.length - errors
  const where = file ?? 'as built in'
  if (found.length === 0) return { check: 'rules', level: 'fine', where, what: 'lint finds nothing to mend' }
  return {
    check: 'rules',
    level: errors > 0 ? 'wrong' : 'risky',
    where,
    what: `lint finds ${plural(errors, 'error')} and ${plural(warnings, 'warning')} for this transport and store`,
    why: `such as ${found[0]!.id} at line ${found[0]!.line}: ${found[0]!.reason}`,
    fix: 'see them all, each with its fix: reprieve rules lint, with the same --rules, --transport and --store',
  }
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

const countOf = (places: readonly Examined[]) => {
  const levels = places.flatMap(({ findings }) => findings.map(({ level }) => level))
  const of = (level: Finding['level']) => levels.filter((each) => each === level).length
  return { wrong: of('wrong'), risky: of('risky'), fine: of('fine') }
}

const tell = (places: readonly Examined[], counts: ReturnType<typeof countOf>, all: boolean): void => {
  for (const { as, url, findings } of places) {
    const shown = findings.filter(({ level }) => all || level !== 'fine')
    const whole = shown.length === 0 ? `  ${good('fine')}` : ''
    say(`${strong(inert(as))} ${inert(url)}${whole}`)
    for (const line of findingLines(shown)) say(line)
  }
  say(
    `\n${counts.wrong} wrong, ${counts.risky} risky, ${counts.fine} fine; docs/doctor.md explains each check`,
  )
}
