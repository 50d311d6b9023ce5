import { readFile } from 'node:fs/promises'
import { ReprieveError } from './core/error.ts'
import { emptyBook, type RuleBook, readRules } from './rules/index.ts'

/** The rule book in a file, its placeholders filled from the environment; without a file what is built in. */
export const loadBook = async (file: string | undefined): Promise<RuleBook> => {
  if (file === undefined) return emptyBook
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new ReprieveError('bad_rules', `the rule book ${file} can't be read: ${error.message}`, {
      fix: 'check the path; without a rule book the defaults apply',
    })
  })
  return readRules(text, file, process.env)
}
