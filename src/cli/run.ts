import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Command } from 'commander'
import type { Journal } from '../contracts/journal.ts'
import type { Tx } from '../contracts/tx.ts'
import { ReprieveError } from '../core/error.ts'
import type { Millis } from '../core/time.ts'
import { type Reprieve, reprieve } from '../reprieve.ts'
import { action, type Ended } from './action.ts'
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

/** So long a blocked event loop is not spoken of. */
const MOST_PATIENT: Millis = 10_000

type Register = (app: Reprieve) => unknown

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
  const { register, tx } = await loadModule(module)
  const journal = journalOf(options)
  const opening = openOptions(options)
  if (!options.json && !options.quiet) remark(calmOnStderr(whatIsUsed(opening)))
  const watchdog = Math.min(options.stuckAfter / 2, MOST_PATIENT)
  const app = await reprieve({ ...opening, office: options.office, journal, watchdog, ...(tx && { tx }) })
  try {
    await registerAll(app, register, module)
    const asked = overseen.asked()
    overseen.serving(options.stuckAfter)
    await Promise.race([app.start().then(() => asked), asked])
    if (!options.json) remark(`draining, for ${span(options.drain)} at most; a second signal leaves at once`)
  } finally {
    await app.close(options.drain)
  }
}

const loadModule = async (path: string): Promise<{ register: Register; tx?: Tx | undefined }> => {
  const file = resolve(path)
  if (!existsSync(file)) {
    throw refuse(
      `there is no module at ${path}`,
      'give the path of a .ts or .js file, from the folder you are in',
    )
  }
  let loaded: { readonly default?: unknown; readonly tx?: Tx }
  try {
    loaded = await import(pathToFileURL(file).href)
  } catch (error) {
    throw refuse(`${path} can't be loaded: ${placeOf(error)}`, howToLoad(path, error), error)
  }
  if (typeof loaded.default !== 'function') {
    throw refuse(
      `${path} has no default export that is a function`,
      "write `export default (app) => { app.service('my-svc').on('my.event', async (event) => {}) }`",
    )
  }
  return { register: loaded.default as Register, tx: loaded.tx }
}

/** `npm init` writes "type": "commonjs": the first thing that many meet. */
const howToLoad = (path: string, error: unknown): string => {
  if (!/outside a module|Unexpected token 'export'/.test(String(error))) return 'make `node` run it first'
  const named = path.replace(/\.([cm]?)([jt]s)$/, '.m$2')
  return `set "type": "module" in the package.json above it, or name it ${named}`
}

const registerAll = async (app: Reprieve, register: Register, path: string): Promise<void> => {
  let services = 0
  const service: Reprieve['service'] = (name) => {
    services++
    return app.service(name)
  }
  try {
    await register({ ...app, service })
  } catch (error) {
    if (error instanceof ReprieveError) throw error
    throw refuse(`the default export of ${path} threw: ${placeOf(error)}`, undefined, error)
  }
  if (services === 0) {
    throw refuse(`${path} registers no service`, "call `app.service('my-svc').on('my.event', …)` in it")
  }
}

const refuse = (message: string, fix?: string, cause?: unknown): ReprieveError =>
  new ReprieveError('bad_handlers', message, { ...(fix !== undefined && { fix }), cause })

/** The message, and the first place that is not inside Node: the user's own line. */
const placeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const lines = (error.stack ?? '').split('\n')
  const place = lines.find((line) => /file:\/\/|^\//.test(line.trim().replace(/^at .*\(|^at /, '')))
  return place ? `${error.name}: ${error.message}\n  ${place.trim()}` : `${error.name}: ${error.message}`
}
