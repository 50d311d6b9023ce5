/**
 * Event-name patterns: a name (`ml.run.started`), or a beginning with a trailing star (`ml.run.*`, `*`).
 * The star stands for any ending, the empty one included.
 */

const MAX_LENGTH = 255

/** Whether it stands for more than one name. */
export const isPrefix = (pattern: string): boolean => pattern.endsWith('*')

/** Why the text can't be a pattern, or undefined where it can. */
export const patternFault = (text: string): string | undefined => {
  if (text === '') return 'is empty'
  if (text.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`
  if (/[\s\p{Cc}]/u.test(text)) return 'holds white space or a control character'
  const star = text.indexOf('*')
  return star === -1 || star === text.length - 1 ? undefined : 'holds a star that is not at its end'
}

export const matches = (pattern: string, name: string): boolean =>
  isPrefix(pattern) ? name.startsWith(pattern.slice(0, -1)) : pattern === name

/** The patterns that match, the most specific first: the exact name, then longer beginnings before shorter. */
export const allMatches = (patterns: Iterable<string>, name: string): readonly string[] => {
  const found = [...new Set(patterns)].filter((pattern) => matches(pattern, name))
  return found.sort((a, b) => Number(isPrefix(a)) - Number(isPrefix(b)) || b.length - a.length)
}

/** The most specific pattern that matches. */
export const bestMatch = (patterns: Iterable<string>, name: string): string | undefined =>
  allMatches(patterns, name)[0]

/** Whether every name that `inner` matches is matched by `outer` too. */
export const covers = (outer: string, inner: string): boolean =>
  isPrefix(outer) ? inner.startsWith(outer.slice(0, -1)) : outer === inner

/** Whether some name is matched by both. */
export const overlaps = (a: string, b: string): boolean => covers(a, b) || covers(b, a)
