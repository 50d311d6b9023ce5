import { trials } from '../../src/testing/trials/index.ts'

/** Quoted, and the first text that a call of `it`, `test` or `describe`, or of one made from them, is given. */
const CALL = /\b(?:it|test|describe)[\w.]*(?:<[^()]*>)?\((?:\s*'[^'\n]*',)?\s*$/
/** What `each`, `skipIf` and the like answer with is called in turn. */
const MADE = /[)`\]]\(\s*$/
const MAKES = /\b(?:it|test|describe)[\w.]*\.(?:each|for|skipIf|runIf)\b/

const CALLER = /\b(\w+)\(\s*$/
/** A short way to write several like it, in the same file. */
const madeFrom = (name: string): RegExp => new RegExp(`const ${name} = [^;]{0,120}?\\b(?:it|test)\\b`)

/** Whether a source has a test, or a group of tests, of this title, as far as can be read from it. */
export const hasTest = (source: string, title: string): boolean => {
  const text = withoutComments(source)
  if (/\btrialSuite\(/.test(text) && trials.some(({ name }) => name === title)) return true
  for (const quote of ["'", '"', '`']) {
    const written = `${quote}${title.replaceAll(quote, `\\${quote}`)}${quote}`
    for (let at = text.indexOf(written); at >= 0; at = text.indexOf(written, at + 1)) {
      const before = text.slice(Math.max(0, at - 200), at)
      if (CALL.test(before)) return true
      const [, caller] = CALLER.exec(before) ?? []
      if (caller && madeFrom(caller).test(text)) return true
      if (MADE.test(before) && MAKES.test(text.slice(0, at))) return true
    }
  }
  return false
}

const withoutComments = (text: string): string =>
  text.replace(/^\s*\/\*[\s\S]*?\*\/\s*$/gm, '').replace(/^\s*\/\/.*$/gm, '')
