import type { Command } from 'commander'
import { loadBook } from '../../book.ts'
import { ReprieveError } from '../../core/error.ts'
import { BadRules } from '../../rules/index.ts'
import { type Facts, type LintFinding, lint, loadFindings } from '../../rules/lint/index.ts'
import { action, type Ended } from '../action.ts'
import { asCount, bookFile, type Common } from '../options.ts'
import { inert } from '../print/inert.ts'
import { bad, calm, good, warn } from '../print/paint.ts'
import { say, sayJson } from '../print/say.ts'
import { isStore, schemeOf, transportFacts } from './transports.ts'

interface LintFlags extends Common {
  readonly strict?: true
  readonly instances?: number
}

export const registerLint = (rules: Command): void => {
  rules
    .command('lint')
    .description('what in the rule book will go wrong, and how to mend it; docs/lint.md explains each check')
    .argument('[file]', 'the rule book (else as --rules)')
    .option('--strict', 'warnings count as errors')
    .option('--instances <count>', 'how many processes run the same service', asCount)
    .addHelpText(
      'after',
      '\nWith --transport, a URL or its scheme, what that transport can is looked at too.',
    )
    .action(action(lintOne))
}

const lintOne = async (flags: LintFlags, named?: string): Promise<Ended> => {
  const file = named ?? bookFile(flags)
  if (file === undefined) {
    throw new ReprieveError('bad_usage', 'there is no rule book to lint', {
      fix: 'name the file, or run it where reprieve.yaml is, here or above',
    })
  }
  const findings = await findingsIn(file, factsOf(flags))
  if (flags.json) sayJson(findings)
  else tell(file, findings)
  const wrong = flags.strict ? findings : findings.filter(({ severity }) => severity === 'error')
  return wrong.length > 0 ? 1 : 0
}

const findingsIn = async (file: string, facts: Facts): Promise<readonly LintFinding[]> => {
  try {
    return lint(await loadBook(file), facts)
  } catch (error) {
    if (error instanceof BadRules) return loadFindings(error)
    throw error
  }
}

const factsOf = ({ transport, store, instances }: LintFlags): Facts => {
  // a database serves as store too; beside a broker it is not known until it is named
  const own = store || (transport && isStore(schemeOf(transport)) && transport)
  return {
    ...(transport && { transport: transportFacts(transport) }),
    ...(own && { store: schemeOf(own) }),
    ...(instances !== undefined && { instances }),
  }
}

const tell = (file: string, findings: readonly LintFinding[]): void => {
  if (findings.length === 0) {
    say(`${inert(file)}: ${good('nothing to mend')}`)
    return
  }
  let before: string | undefined
  for (const finding of findings) {
    if (before !== undefined && before !== finding.file) say('')
    before = finding.file
    say(lineOf(finding))
  }
  say(
    `\n${count(findings, 'error')}, ${count(findings, 'warning')}; docs/lint.md explains each check by its id`,
  )
}

const lineOf = ({ file, line, column, path, severity, id, reason, fix }: LintFinding): string => {
  const painted = (severity === 'error' ? bad : warn)(severity)
  const where = path === '' ? '' : `${inert(path)} `
  const place = column === undefined ? line : `${line}:${column}`
  return `${inert(file)}:${place} ${where}${painted} ${id}: ${inert(reason)} ${calm(`— ${inert(fix)}`)}`
}

const count = (findings: readonly LintFinding[], severity: LintFinding['severity']): string => {
  const { length } = findings.filter((finding) => finding.severity === severity)
  return `${length} ${severity}${length === 1 ? '' : 's'}`
}
