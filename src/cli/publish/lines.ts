import { open } from 'node:fs/promises'
import { ReprieveError } from '../../core/error.ts'

/** A line that is longer holds no event that could travel. */
export const LONGEST = 8 * 1024 * 1024

export interface Line {
  readonly number: number
  readonly bytes: Uint8Array
}

/**
 * Lines as they arrive, in groups: what comes slowly through a pipe is not kept waiting for more, and what comes
 * fast comes in large groups.
 */
export async function* linesOf(input: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Line[]> {
  let rest: Uint8Array[] = []
  let length = 0
  let number = 0
  const take = (end: Uint8Array): Line => {
    const bytes = Buffer.concat([...rest, end])
    rest = []
    length = 0
    return { number: ++number, bytes }
  }
  for await (const chunk of input) {
    const lines: Line[] = []
    let from = 0
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      lines.push(take(chunk.subarray(from, at)))
      from = at + 1
    }
    rest.push(chunk.subarray(from))
    length += chunk.length - from
    if (lines.length > 0) yield lines
    if (length > LONGEST) {
      yield [take(new Uint8Array())]
      return
    }
  }
  if (length > 0) yield [take(new Uint8Array())]
}

/** `-` is what is piped in. */
export const inputFrom = async (file: string): Promise<AsyncIterable<Uint8Array>> => {
  if (file === '-') return process.stdin
  const unreadable = (why: string): ReprieveError =>
    new ReprieveError('bad_usage', `the events can't be read: ${why}`, {
      fix: 'after --file comes the path of a file with one JSON object a line',
    })
  const handle = await open(file).catch((error: Error) => {
    throw unreadable(error.message)
  })
  if ((await handle.stat()).isDirectory()) {
    await handle.close()
    throw unreadable(`'${file}' is a folder`)
  }
  return handle.createReadStream({ highWaterMark: 1024 * 1024 })
}
