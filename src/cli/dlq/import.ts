import type { Command } from 'commander'
import { type ActingFlags, actingOf, withActing } from '../acting.ts'
import { action, type Ended } from '../action.ts'
import { inert } from '../print/inert.ts'
import { showProgress } from '../print/progress.ts'
import { say, sayJson } from '../print/say.ts'
import { linesOf } from './lines.ts'
import { openOffice } from './office.ts'

export const registerImport = (dlq: Command): void => {
  withActing(dlq.command('import'))
    .description('keep dead letters that were exported; those that are here already stay as they are')
    .argument('<file>', 'as export wrote it')
    .action(action(imported))
}

const imported = async (flags: ActingFlags, file: string): Promise<Ended> => {
  await using opened = await openOffice(flags)
  let total: number | undefined
  /** They are read twice: to see that all of them are well, and to keep them. */
  async function* lines(): AsyncGenerator<string> {
    const of = total
    const progress = showProgress(of === undefined ? 'lines checked' : 'lines brought in')
    let count = 0
    try {
      for await (const line of linesOf(file)) {
        yield line
        progress.at(++count, of)
      }
    } finally {
      progress.end()
    }
    total = count
  }
  const { count, kept } = await opened.app.office.importLines(lines, {
    ...actingOf(flags),
    file: inert(file),
  })
  if (flags.json) return sayJson({ count, kept })
  say(`${kept} letters kept${kept < count ? `, ${count - kept} were here already` : ''}`)
}
