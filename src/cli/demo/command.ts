import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { ReprieveError } from '../../core/error.ts'
import type { Millis } from '../../core/time.ts'
import { action, type Ended } from '../action.ts'
import { asCount, asDuration, type Common } from '../options.ts'
import { tellEnding } from './ending.ts'

interface DemoFlags extends Common {
  readonly for: Millis
  readonly events: number
  readonly db?: string
}

export const registerDemo = (program: Command): void => {
  program
    .command('demo')
    .description('a mail service on a bad day: retries, deaths, a repair, a replay')
    .option('--for <duration>', 'how long it may take, about', asDuration, 20_000)
    .option('--events <count>', 'how many events', asCount, 20)
    .option('--db <file>', 'keep the database in this new file')
    .action(action(demo))
}

const demo = async (flags: DemoFlags): Promise<Ended> => {
  if (flags.db !== undefined && existsSync(flags.db)) {
    throw new ReprieveError('bad_usage', `${flags.db} exists already`, {
      fix: 'the demo counts from nothing: name a file that is new',
    })
  }
  const { perform } = await import('./perform.ts')
  const folder = await mkdtemp(join(tmpdir(), 'reprieve-demo-'))
  const leave = new AbortController()
  const ask = () => (leave.signal.aborted ? process.exit(130) : leave.abort())
  process.on('SIGINT', ask).on('SIGTERM', ask)
  try {
    const ending = await perform({
      folder,
      db: flags.db ?? join(folder, 'demo.db'),
      events: flags.events,
      length: flags.for,
      json: flags.json === true,
      leave: leave.signal,
    })
    return leave.signal.aborted ? 130 : tellEnding(ending, flags.json === true)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
