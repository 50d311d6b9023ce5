import { readFileSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { ReprieveError } from './core/error.ts'
import { emptyBook, type ReadOther, type RuleBook, readRules } from './rules/index.ts'

/** The rule book in a file, its placeholders filled from the environment; without a file what is built in. */
export const loadBook = async (file: string | undefined): Promise<RuleBook> => {
  if (file === undefined) return emptyBook
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new ReprieveError('bad_rules', `the rule book ${file} can't be read: ${error.message}`, {
      fix: 'check the path; without a rule book the defaults apply',
    })
  })
  return readRules(text, file, process.env, otherBooks(file))
}

/** Books that others extend: their paths are meant from the folder of the book that names them. */
const otherBooks = (first: string): ReadOther => {
  /** One name for each file, however it is reached, or a circle would not be seen. */
  const names = new Map([[resolve(first), first]])
  return (target, from) => {
    const path = isAbsolute(target) ? target : join(dirname(from), target)
    const file = names.get(resolve(path)) ?? path
    names.set(resolve(path), file)
    try {
      if (!statSync(file).isFile()) return { fault: 'is no file' }
      return { file, text: readFileSync(file, 'utf8') }
    } catch (error) {
      return { fault: (error as { code?: string }).code === 'ENOENT' ? 'does not exist' : "can't be read" }
    }
  }
}
