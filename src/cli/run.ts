import type { Command } from 'commander'
import type { Journal } from '../contracts/journal.ts'
import type { Millis } from '../core/time.ts'
import { reprieve } from '../reprieve.ts'
import { action, type Ended } from './action.ts'
import { loadModule, registerAll } from './module.ts'
import { asDuration, type Common, openOptions } from './options.ts'
import { factJson, factLines } from './print/facts.ts'
import { calmOnStderr } from './print/paint.ts'
import { remark, say } from './print/say.ts'
import { span } from './print/time.ts'
import { supervise } from './supervise.ts'
import { isSupervised, type Overseer, overseer } from './supervised.ts'
import { whatIsUsed } from './used.ts'

interface RunOptions extends Common {
  readonly drain: Millis
  readonly quiet?: true
  readonly office: boolean
  readonly supervise: boolean
  readonly stuckAfter: Millis
}

export const registerRun = (program: Command): void => {
  program
    .command('run')
    .description('run the services that a module registers, until SIGINT or SIGTERM')
    .argument(
      '<module>',
      'a .ts or .js file whose default export is (app) => void; `tx` is its database, if it exports one',
    )
    .option('--drain <duration>', 'how long handlers may still take after the signal', asDuration, 30_000)
    .option('--quiet', 'tell only deaths, troubles and notices')
    .option(
      '--stuck-after <duration>',
      'replace a process whose event loop is blocked for so long',
      asDuration,
      60_000,
    )
    .option('--no-supervise', 'do the work in this very process, and replace nothing')
    .option('--no-office', "don't take over dead letters in this process")
    .action(action(run))
}

/** So long a blocked event loop, or a module that does not come back, is not spoken of. */
const MOST_PATIENT: Millis = 10_000

const run = async (options: RunOptions, module: string): Promise<Ended> => {
  if (!options.supervise || isSupervised()) return serve(options, module)
  const { stuckAfter } = options
  const journal = journalOf(options)
  return supervise({ stuckAfter, tell: (text) => journal({ at: Date.now(), is: 'notice', text }) })
}

const serve = async (options: RunOptions, module: string): Promise<Ended> => {
  const overseen = overseer()
  try {
    await serveUntilAsked(options, module, overseen)
  } finally {
    await overseen.ended()
  }
}

const journalOf = (options: RunOptions): Journal =>
  options.json ? factJson : factLines(say, options.quiet ? 'quiet' : 'all')

const serveUntilAsked = async (options: RunOptions, module: string, overseen: Overseer): Promise<void> => {
  const journal = journalOf(options)
  const patience = Math.min(options.stuckAfter / 2, MOST_PATIENT)
  const tell = (text: string) => journal({ at: Date.now(), is: 'notice', text })
  const { register, tx } = await loadModule(module, patience, tell)
  const opening = openOptions(options)
  if (!options.json && !options.quiet) remark(calmOnStderr(whatIsUsed(opening)))
  const app = await reprieve({
    ...opening,
    office: options.office,
    journal: (fact) => {
      if (fact.is === 'started') overseen.begun()
      journal(fact)
    },
    watchdog: patience,
    ...(tx && { tx }),
  })
  try {
    await registerAll(app, register, module, patience, tell)
    const asked = overseen.asked()
    overseen.serving(options.stuckAfter)
    const started = app.start().then(() => overseen.started())
    await Promise.race([started.then(() => asked), asked])
    if (!options.json) remark(`draining, for ${span(options.drain)} at most; a second signal leaves at once`)
  } finally {
    await app.close(options.drain)
  }
}
