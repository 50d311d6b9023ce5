import { Composer, CST, Lexer, type LineCounter, type Node, Parser } from 'yaml'

/** What is wrong with a text as YAML. */
export interface Fault {
  readonly offset: number
  readonly found: string
  readonly expected: string
}

export interface Composed {
  readonly root: Node | null
  readonly faults: readonly Fault[]
  /** How much was read before it was clear what this is: the measure of the work. */
  readonly tokens: number
}

/** Room for 2,000 services with 20 events each and two figures a row; more takes seconds to read. */
export const MAX_BYTES = 4 * 1024 * 1024
const MAX_TOKENS = 3_000_000
const MAX_BRACKETS = 64
const MAX_IN_A_ROW = 64
const MOST_FAULTS = 100

/**
 * Parses without ever throwing, and without spending long on a text that is no rule book: it stops in the middle
 * where the parser would build (and report) a tree of a million brackets first.
 */
export const composeYaml = (text: string, lineCounter: LineCounter): Composed => {
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_BYTES) {
    const found = `a text of ${bytes} bytes`
    return { root: null, faults: [{ offset: 0, found, expected: `at most ${MAX_BYTES}` }], tokens: 0 }
  }
  const faults: Fault[] = []
  const report = (offset: number, found: string): void => {
    faults.push({ offset, found, expected: 'correct YAML' })
    if (faults.length >= MOST_FAULTS) throw new Enough()
  }
  const tokens = readTokens(text, lineCounter, report)
  try {
    const [document, second] = composerFor(report).compose(tokens, true, text.length)
    // what the parser says at its very end does not pass the handler
    for (const { pos, message } of [...document!.errors, ...document!.warnings]) report(pos[0], message)
    if (second) {
      const found = 'a second document'
      faults.push({ offset: second.range[0], found, expected: 'one document in the file' })
    }
    return { root: document!.contents as Node | null, faults, tokens: tokens.count }
  } catch (error) {
    if (error instanceof TooMuch) faults.push(error.fault)
    else if (!(error instanceof Enough)) report(0, (error as Error).message)
    return { root: null, faults, tokens: tokens.count }
  }
}

/** Ends the parser in the middle of its work. */
class Enough extends Error {}

class TooMuch extends Error {
  readonly fault: Fault

  constructor(offset: number, found: string) {
    super(found)
    this.fault = { offset, found, expected: 'a rule book' }
  }
}

/** The composer keeps its handler of errors to itself, and would gather a million of them. */
const composerFor = (report: (offset: number, found: string) => void): Composer => {
  const composer = new Composer({
    version: '1.2',
    schema: 'core',
    resolveKnownTags: false,
    prettyErrors: false,
    logLevel: 'error',
    // Its own check compares each key with all before it; the tree looks them up instead.
    uniqueKeys: false,
  })
  const onError = (
    source: number | readonly number[] | { offset: number },
    _: string,
    message: string,
  ): void =>
    report(typeof source === 'number' ? source : 'offset' in source ? source.offset : source[0]!, message)
  return Object.assign(composer, { onError })
}

interface Tokens extends Iterable<CST.Token> {
  count: number
}

const readTokens = (
  text: string,
  lineCounter: LineCounter,
  report: (offset: number, found: string) => void,
): Tokens => ({
  count: 0,
  *[Symbol.iterator]() {
    const parser = new Parser(lineCounter.addNewLine)
    lineCounter.addNewLine(0)
    let depth = 0
    let row = 0
    let offset = 0
    for (const token of new Lexer().lex(text)) {
      if (++this.count > MAX_TOKENS) throw new TooMuch(offset, 'a text without end')
      if (token === '[' || token === '{') depth++
      else if (token === ']' || token === '}') depth--
      if (depth > MAX_BRACKETS) throw new TooMuch(offset, 'too many brackets')
      // each of these opens a level: in a row they are as good as brackets
      if (token === '-' || token === '?') row++
      else if (token.trim() !== '') row = 0
      if (row > MAX_IN_A_ROW) throw new TooMuch(offset, `too many '${token}' in a row`)
      if (token !== CST.DOCUMENT && token !== CST.FLOW_END && token !== CST.SCALAR) offset += token.length
      for (const each of parser.next(token)) {
        if (each.type === 'error') report(each.offset, each.message)
        else yield each
      }
    }
    yield* parser.end()
  },
})
