/**
 * JSON nested deeper than `JSON.parse` can revive: that descends by calls, and some thousand levels exhaust the stack. What
 * is on the way lies in a list of ours here. The text must be JSON already, as `JSON.parse` alone can tell at any depth.
 */
export const parseDeep = (text: string, numberOf: (source: string) => unknown): unknown => {
  const open: Branch[] = []
  let whole: unknown
  let name: string | undefined
  const put = (value: unknown): void => {
    const into = open.at(-1)
    if (into === undefined) whole = value
    else if (Array.isArray(into)) into.push(value)
    else if (name === undefined) name = value as string
    else {
      into[name] = value
      name = undefined
    }
  }
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '}' || token === ']') open.pop()
    else if (token === '{' || token === '[') {
      // without a prototype any name is a name like another, '__proto__' too
      const branch: Branch = token === '[' ? [] : Object.create(null)
      put(branch)
      open.push(branch)
    } else put(/^["tfn]/.test(token) ? JSON.parse(token) : numberOf(token))
  }
  return whole
}

type Branch = unknown[] | Record<string, unknown>

/** Commas and colons say nothing that the order does not. */
const TOKENS = /[{}[\]]|"[^"\\]*(?:\\.[^"\\]*)*"|[\w.+-]+/g
