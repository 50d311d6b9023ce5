/**
 * Markdown out of words that others chose: names and reasons of a rule book may hold pipes, backticks, line ends and
 * HTML, and must stay the words they are.
 */

const BREAKS = /[\s\u0085\u2028\u2029]+/g
/** What hides or turns the text around it. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Surrogate}]/gu
const SPECIAL = /[\\`*_[\]<&#|~$]/g
const PLAIN_CODE = /^[A-Za-z0-9 .,:;/+=@%{}()*?'"!×±≤≥<>→…_-]+$/

const oneLine = (text: string): string => text.replace(BREAKS, ' ').trim().replace(UNSEEN, '\ufffd')

const entity = (char: string): string => `&#${char.codePointAt(0)};`

/** Words in a sentence, a heading or a cell. */
export const words = (text: string): string => oneLine(text).replace(SPECIAL, entity)

/** A name, as code. What a code span can't hold safely, in a table least of all, is written as HTML. */
export const code = (text: string): string => {
  const line = oneLine(text)
  if (PLAIN_CODE.test(line)) return `\`${line}\``
  return `<code>${line.replace(/[^A-Za-z0-9 .,:;/+=@%(){}-]/gu, entity)}</code>`
}

export const section = (level: 1 | 2 | 3, title: string): string => `${'#'.repeat(level)} ${title}`

export const bullets = (lines: readonly (string | false | undefined)[]): string =>
  lines
    .filter((line) => line !== false && line !== undefined)
    .map((line) => `- ${line}`)
    .join('\n')

/** Columns are padded, so that the source can be read as well. Cells are Markdown already. */
export const grid = (titles: readonly string[], rows: readonly (readonly string[])[]): string => {
  const widths = titles.map((title, i) =>
    rows.reduce((width, row) => Math.max(width, row[i]!.length), Math.max(3, title.length)),
  )
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`
  return [
    line(titles),
    `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`,
    ...rows.map(line),
  ].join('\n')
}

/** Blocks with one empty line between them; what is absent leaves no gap. */
export const page = (blocks: readonly (string | false | undefined)[]): string =>
  `${blocks.filter((block) => block !== false && block !== undefined && block !== '').join('\n\n')}\n`
