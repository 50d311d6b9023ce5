import { CST, Lexer, type LineCounter, type Node, parseDocument } from 'yaml'

/** What is wrong with a text as YAML. */
export interface Fault {
  readonly offset: number
  readonly found: string
  readonly expected: string
}

export interface Composed {
  readonly root: Node | null
  readonly faults: readonly Fault[]
}

export const MAX_BYTES = 1024 * 1024
const MAX_TOKENS = 300_000
const MAX_BRACKETS = 64
const MOST_FAULTS = 100

/**
 * Parses without ever throwing, and without spending long on a text that is no rule book: the lexer is cheap and
 * stops at once where the parser would build (and report) a tree of a million brackets first.
 */
export const composeYaml = (text: string, lineCounter: LineCounter): Composed => {
  const refused = tooMuch(text)
  if (refused) return { root: null, faults: [refused] }
  try {
    const document = parseDocument(text, {
      version: '1.2',
      schema: 'core',
      resolveKnownTags: false,
      prettyErrors: false,
      logLevel: 'error',
      lineCounter,
      // Its own check compares each key with all before it; the tree looks them up instead.
      uniqueKeys: false,
    })
    const faults = [...document.errors, ...document.warnings].slice(0, MOST_FAULTS).map((error) => ({
      offset: error.pos[0],
      found: error.code === 'MULTIPLE_DOCS' ? 'a second document' : error.message,
      expected: error.code === 'MULTIPLE_DOCS' ? 'one document in the file' : 'correct YAML',
    }))
    return { root: document.contents as Node | null, faults }
  } catch (error) {
    return { root: null, faults: [{ offset: 0, found: (error as Error).message, expected: 'correct YAML' }] }
  }
}

const tooMuch = (text: string): Fault | undefined => {
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_BYTES) {
    return { offset: 0, found: `a text of ${bytes} bytes`, expected: `at most ${MAX_BYTES}` }
  }
  let tokens = 0
  let depth = 0
  let offset = 0
  for (const token of new Lexer().lex(text)) {
    if (++tokens > MAX_TOKENS) return { offset, found: 'a text without end', expected: 'a rule book' }
    if (token === '[' || token === '{') depth++
    else if (token === ']' || token === '}') depth--
    if (depth > MAX_BRACKETS) return { offset, found: 'too many brackets', expected: 'a rule book' }
    if (token !== CST.DOCUMENT && token !== CST.FLOW_END && token !== CST.SCALAR) offset += token.length
  }
  return undefined
}
