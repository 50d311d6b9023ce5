import { type FileHandle, open } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { systemClock } from '../../adapters/system/clock.ts'
import type { LetterFilter, LetterState } from '../../contracts/letters.ts'
import { canonical } from '../../core/canonical.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Json } from '../../core/json.ts'
import { LETTER_STATES } from '../../core/letter.ts'
import { createTally, endLine, headLine, readLine, type Tally } from '../../core/letter-file.ts'
import { type ActingFlags, actingOf, withActing } from '../acting.ts'
import { action, type Ended } from '../action.ts'
import { inert } from '../print/inert.ts'
import { type Progress, withProgress } from '../print/progress.ts'
import { remark, say, sayJson } from '../print/say.ts'
import { type FilterFlags, wholeFilter, withFilter } from './filter.ts'
import { linesOf } from './lines.ts'
import { openOffice } from './office.ts'

interface ExportFlags extends FilterFlags, ActingFlags {
  readonly file?: string
  readonly state?: LetterState
}

export const registerExport = (dlq: Command): void => {
  withActing(withFilter(dlq.command('export')))
    .description('write dead letters with all that is known of them, as JSON lines')
    .addOption(new Option('--state <state>', 'in this state (else all)').choices(LETTER_STATES))
    .option('--file <path>', 'to this file; one that was not finished is gone on with (else to the output)')
    .action(action(exported))
}

/** Where a file stands: what it holds already, and how many bytes of it are whole lines. */
interface Begun {
  readonly tally: Tally
  count: number
  last?: string
  bytes: number
}

const exported = async (flags: ExportFlags): Promise<Ended> => {
  await using opened = await openOffice(flags)
  const { office } = opened.app
  const found = await wholeFilter(office, flags)
  const filter: LetterFilter = flags.state === undefined ? found : { ...found, states: [flags.state] }
  const { file } = flags
  const begun = file === undefined ? nothing() : await standsAt(file, filter)
  if (!begun) return tellWhole(file!, flags)
  await using out = file === undefined ? undefined : await openAt(file, begun)
  await out?.truncate(begun.bytes)
  const write = async (lines: readonly string[]): Promise<void> => {
    const text = `${lines.join('\n')}\n`
    if (out) begun.bytes += await append(out, text, begun.bytes)
    else await toOutput(text)
  }
  const put = async (lines: readonly string[]): Promise<void> => {
    await write(lines)
    for (const line of lines) begun.tally.add(line)
  }
  if (begun.bytes === 0) await put([headLine(systemClock.now(), filter as Json)])
  const after = begun.last === undefined ? {} : { after: begun.last }
  const writeAll = async (tell: Progress['at']): Promise<void> => {
    const { count, whole } = await office.find(filter, { limit: 1 })
    const of = whole ? Math.max(count, begun.count) : undefined
    tell(begun.count, of)
    for await (const lines of office.exportLines(filter, { ...actingOf(flags), ...after })) {
      await put(lines)
      begun.count += lines.length
      tell(begun.count, of)
    }
  }
  // what goes to a terminal itself is its own progress
  await (out || !process.stdout.isTTY ? withProgress('written', writeAll) : writeAll(() => {}))
  await write([endLine(begun.count, begun.tally.hash())])
  await out?.sync()
  if (out && flags.json) return sayJson({ count: begun.count, hash: begun.tally.hash() })
  const said = `${begun.count} letters written`
  if (out) say(said)
  else remark(said)
}

/** Letters that came since are not in it: that must not pass for a new export. */
const tellWhole = (file: string, { json }: ExportFlags): void => {
  if (json) {
    sayJson({ count: 0, whole: true })
    return
  }
  say(`${inert(file)} is whole already`)
  remark('nothing was written: for letters that came since name another file')
}

const openAt = (file: string, { bytes }: Begun): Promise<FileHandle> =>
  open(file, bytes > 0 ? 'r+' : 'w').catch((error: Error) => {
    throw new ReprieveError('bad_usage', `${inert(file)} can't be written: ${error.message}`, {
      fix: 'name a file in a folder that is there and may be written to',
    })
  })

const nothing = (): Begun => ({ tally: createTally(), count: 0, bytes: 0 })

/** undefined: the file is whole. Half a line at its end is written anew. */
const standsAt = async (file: string, filter: LetterFilter): Promise<Begun | undefined> => {
  const begun = nothing()
  const there = await open(file, 'r').then(
    (handle) => handle.close().then(() => true),
    () => false,
  )
  if (!there) return begun
  for await (const text of linesOf(file, false)) {
    const line = readLine(text)
    if (line.is === 'fault') throw notOurs(file, line.why)
    if ((line.is === 'head') !== (begun.bytes === 0)) throw notOurs(file, 'it is no file of letters')
    if (line.is === 'end') return undefined
    if (line.is === 'head' && canonical(line.filter) !== canonical(JSON.parse(JSON.stringify(filter))))
      throw notOurs(file, 'it was begun with another filter')
    begun.tally.add(text)
    begun.bytes += Buffer.byteLength(text) + 1
    if (line.is !== 'letter') continue
    begun.count++
    begun.last = line.letter.id
  }
  return begun
}

const notOurs = (file: string, why: string): ReprieveError =>
  new ReprieveError('bad_usage', `${inert(file)} can't be gone on with: ${why}`, { fix: 'name another file' })

const append = async (out: FileHandle, text: string, at: number): Promise<number> => {
  const bytes = Buffer.from(text)
  for (let done = 0; done < bytes.length; )
    done += (await out.write(bytes, done, bytes.length - done, at + done)).bytesWritten
  return bytes.length
}

/** No faster than it is read, so that it need not be kept here. */
const toOutput = (text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })
