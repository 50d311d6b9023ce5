import { hash } from 'node:crypto'

/** An index takes no more than about 2,700 bytes, and has two such words beside a time. */
const LONGEST = 300

/** For an index, whatever somebody wrote into a letter: what does not fit there is known by its digest. */
export const boundedOf = (word: string): string =>
  word.length <= LONGEST && !word.includes('\u0000') && word.isWellFormed()
    ? word
    : `sha256:${hash('sha256', JSON.stringify(word), 'base64url')}`

/** PostgreSQL keeps no zero byte in a text: it stands as `\0`, and a backslash as two. */
export const textOf = (text: string): string =>
  text.toWellFormed().replace(/[\\\0]/g, (each) => (each === '\0' ? '\\0' : '\\\\'))

export const readText = (text: string): string =>
  text.replace(/\\([\\0])/g, (_, each) => (each === '0' ? '\0' : '\\'))
