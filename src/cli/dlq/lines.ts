import { createReadStream } from 'node:fs'
import { ReprieveError } from '../../core/error.ts'
import { inert } from '../print/inert.ts'

/** No letter is larger, with all its versions. */
const LONGEST = 64 * 1024 * 1024
const NEWLINE = 0x0a

/** A file line by line, in little memory whatever is in it. What follows the last line end is a line where `rest` says so. */
export async function* linesOf(path: string, rest = true): AsyncGenerator<string> {
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  let number = 0
  let held: Buffer[] = []
  let size = 0
  const whole = (last: Buffer): string => {
    number++
    try {
      return utf8.decode(held.length === 0 ? last : Buffer.concat([...held, last]))
    } catch {
      throw new ReprieveError('bad_usage', `${inert(path)}:${number}: it is no UTF-8`)
    } finally {
      held = []
      size = 0
    }
  }
  for await (const chunk of bytesOf(path)) {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      yield whole(chunk.subarray(from, at))
      from = at + 1
    }
    held.push(chunk.subarray(from))
    size += chunk.length - from
    if (size > LONGEST)
      throw new ReprieveError('bad_usage', `${inert(path)}:${number + 1}: the line is too long`)
  }
  if (rest && size > 0) yield whole(Buffer.alloc(0))
}

async function* bytesOf(path: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of createReadStream(path)) yield chunk as Buffer
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new ReprieveError('bad_usage', `${inert(path)} can't be read: ${message}`)
  }
}
