import type { Audit } from '../contracts/audit.ts'
import type { Brought } from '../contracts/desk.ts'
import type { LetterFilter, Letters } from '../contracts/letters.ts'
import type { Tools } from '../contracts/tools.ts'
import { ReprieveError } from '../core/error.ts'
import { createTally, type FiledLetter, type FileLine, letterLine, readLine } from '../core/letter-file.ts'
import { checkFilter } from '../core/sift.ts'
import type { Acting, createActor } from './acting.ts'
import { deskOf } from './repairing.ts'
import { filterText } from './selection.ts'

/** Letters out to files, and back in. */
export interface Filing {
  /**
   * The lines of all letters that fit, the newest first, a page at a time; after the letter `after` where a file is gone on
   * with. Letters that arrive meanwhile are no part of it. The audit has that it was begun.
   */
  exportLines(filter?: LetterFilter, options?: ExportOptions): AsyncGenerator<readonly string[]>
  /**
   * Reads a file of letters twice: whole, and every line looked at, before the first letter is kept. Letters that are here
   * already stay as they are, so that one which was stopped can be done again. What was on its way elsewhere is open here.
   */
  importLines(lines: () => AsyncIterable<string>, options?: ImportOptions): Promise<Imported>
}

export interface ExportOptions extends Acting {
  readonly after?: string
}

export interface ImportOptions extends Acting {
  /** The file's name, for messages. */
  readonly file?: string
}

export interface Imported {
  readonly count: number
  /** How many were not here before. */
  readonly kept: number
}

const PAGE = 200
const BATCH = 100
/** For the audit, which says where there may be more. */
const MOST_COUNTED = 1000

export const createFiling = (
  letters: Letters,
  audit: Audit,
  { clock }: Tools,
  actor: ReturnType<typeof createActor>,
): Filing => {
  const versionsOf = async (id: string): Promise<FiledLetter['repairs']> =>
    (await letters.desk?.versions(id)) ?? []

  return {
    exportLines: async function* (filter = {}, { after, ...by } = {}) {
      checkFilter(filter)
      const { count, whole } = await letters.countUpTo(filter, MOST_COUNTED)
      const details = { filter: filterText(filter), whole, ...(after !== undefined && { after }) }
      await audit.append({ ...actor(by, 'export', details), target: 'letters', count })
      for (let last = after; ; ) {
        const page = await letters.find(filter, PAGE, last)
        const lines: string[] = []
        for (const { letter, state, stateAt, repair } of page) {
          const repairs = repair ? await versionsOf(letter.id) : []
          lines.push(letterLine({ letter, state, stateAt, repairs }))
        }
        if (lines.length > 0) yield lines
        if (page.length < PAGE) return
        last = page.at(-1)!.letter.id
      }
    },
    importLines: async (lines, { file = 'the file', ...by } = {}) => {
      const desk = deskOf(letters)
      actor(by, 'import')
      const whole = await read(lines(), file, async () => {})
      const act = actor(by, 'import', { file, file_count: whole.count, file_hash: whole.hash })
      let kept = 0
      let batch: Brought[] = []
      const bring = async () => {
        const brought = await desk.bring(batch, { ...act, at: clock.now() })
        kept += brought.filter(Boolean).length
        batch = []
        await clock.sleep(0) // nobody else is kept waiting
      }
      const again = await read(lines(), file, async ({ letter, state, stateAt, repairs }) => {
        batch.push({ letter, state: state === 'replaying' ? 'open' : state, stateAt, repairs })
        if (batch.length === BATCH) await bring()
      })
      if (batch.length > 0) await bring()
      if (again.hash === whole.hash) return { count: whole.count, kept }
      throw new ReprieveError(
        'bad_usage',
        `${file} was changed while it was read; ${kept} letters of it were kept`,
      )
    },
  }
}

/** To the end of the file, which must be whole. */
const read = async (
  lines: AsyncIterable<string>,
  file: string,
  each: (letter: FiledLetter) => Promise<void>,
): Promise<{ readonly count: number; readonly hash: string }> => {
  const tally = createTally()
  let number = 0
  let count = 0
  let end: Extract<FileLine, { is: 'end' }> | undefined
  const refuse = (why: string): never => {
    throw new ReprieveError('bad_usage', `${file}:${number}: ${why}`, {
      fix: 'nothing of it was kept; export it again, or mend this line',
    })
  }
  for await (const text of lines) {
    number++
    if (end) refuse('it goes on behind its closing line')
    const line = readLine(text)
    if (line.is === 'fault') refuse(line.why)
    if ((line.is === 'head') !== (number === 1))
      refuse('a file of letters begins with the line that says so, once')
    if (line.is === 'end') {
      if (line.count !== count) refuse(`it has ${count} letters, and ${line.count} were written`)
      if (line.hash !== tally.hash()) refuse('its lines are not those that were written: the hash differs')
      end = line
      continue
    }
    tally.add(text)
    if (line.is !== 'letter') continue
    count++
    await each(line)
  }
  number++
  return end ?? refuse('the closing line is missing: the file was cut, or is still being written')
}
