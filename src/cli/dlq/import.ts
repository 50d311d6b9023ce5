import type { Command } from 'commander'
import { type ActingFlags, actingOf, withActing } from '../acting.ts'
import { action, type Ended } from '../action.ts'
import { inert } from '../print/inert.ts'
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
  const { count, kept } = await opened.app.office.importLines(() => linesOf(file), {
    ...actingOf(flags),
    file: inert(file),
  })
  if (flags.json) return sayJson({ count, kept })
  say(`${kept} letters kept${kept < count ? `, ${count - kept} were here already` : ''}`)
}
