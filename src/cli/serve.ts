import type { Command } from 'commander'
import { reprieve } from '../reprieve.ts'
import { action, type Ended } from './action.ts'
import { type Common, openOptions } from './options.ts'
import { factJson, factLines } from './print/facts.ts'
import { calmOnStderr } from './print/paint.ts'
import { remark, say } from './print/say.ts'
import { untilSignal } from './signals.ts'
import { whatIsUsed } from './used.ts'

interface ServeFlags extends Common {
  readonly quiet?: true
}

export const registerServe = (program: Command): void => {
  program
    .command('serve')
    .description(
      'run the office on its own: take over dead letters, watch, do its jobs, until SIGINT or SIGTERM',
    )
    .option('--quiet', 'tell only alerts, troubles and notices')
    .action(action(serve))
}

const serve = async (flags: ServeFlags): Promise<Ended> => {
  const asked = untilSignal()
  const opening = openOptions(flags)
  const journal = flags.json ? factJson : factLines(say, flags.quiet ? 'quiet' : 'all')
  if (!flags.json && !flags.quiet) remark(calmOnStderr(whatIsUsed(opening)))
  await using app = await reprieve({ ...opening, journal })
  await Promise.race([app.serve().then(() => asked), asked])
}
