import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Tx } from '../contracts/tx.ts'
import { ReprieveError } from '../core/error.ts'
import type { Millis } from '../core/time.ts'
import type { Reprieve } from '../reprieve.ts'
import { awaited, type Waiting } from './awaited.ts'
import { span } from './print/time.ts'

/** A user's module, with its handlers. */
export type Register = (app: Reprieve) => unknown

type Tell = (text: string) => void

export const loadModule = async (
  path: string,
  patience: Millis,
  tell: Tell,
): Promise<{ register: Register; tx?: Tx | undefined }> => {
  const file = resolve(path)
  if (!existsSync(file)) {
    throw refuse(
      `there is no module at ${path}`,
      'give the path of a .ts or .js file, from the folder you are in',
    )
  }
  let loaded: { readonly default?: unknown; readonly tx?: Tx }
  try {
    loaded = await awaited(
      import(pathToFileURL(file).href),
      waiting(
        `${path} is still being loaded`,
        `${path} never ends being loaded`,
        AWAIT_AT_TOP,
        patience,
        tell,
      ),
    )
  } catch (error) {
    if (error instanceof ReprieveError) throw error
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
  if (!/\.[cm]?[jt]s$/.test(path)) return 'give the path of a .ts or .js file'
  if (!/outside a module|Unexpected token 'export'/.test(String(error))) return 'make `node` run it first'
  const named = path.replace(/\.([cm]?)([jt]s)$/, '.m$2')
  return `set "type": "module" in the package.json above it, or name it ${named}`
}

export const registerAll = async (
  app: Reprieve,
  register: Register,
  path: string,
  patience: Millis,
  tell: Tell,
): Promise<void> => {
  let services = 0
  const service: Reprieve['service'] = (name) => {
    services++
    return app.service(name)
  }
  try {
    const called = `the default export of ${path}`
    await awaited(
      (async () => register({ ...app, service }))(),
      waiting(`${called} has not come back`, `${called} never comes back`, AWAIT_INSIDE, patience, tell),
    )
  } catch (error) {
    if (error instanceof ReprieveError) throw error
    throw refuse(`the default export of ${path} threw: ${placeOf(error)}`, undefined, error)
  }
  if (services === 0) {
    throw refuse(`${path} registers no service`, "call `app.service('my-svc').on('my.event', …)` in it")
  }
}

const AWAIT_AT_TOP = 'look what it awaits outside of functions: some promise there is never resolved'
const AWAIT_INSIDE =
  'look what it awaits: some promise there is never resolved; what goes on for ever is not to be awaited'

const waiting = (late: string, never: string, fix: string, patience: Millis, tell: Tell): Waiting => ({
  patience,
  late: () => tell(`${late} after ${span(patience)}, and no service starts before: ${fix}`),
  never: () => refuse(`${never}: nothing is left to wait for`, fix),
})

const refuse = (message: string, fix?: string, cause?: unknown): ReprieveError =>
  new ReprieveError('bad_handlers', message, { ...(fix !== undefined && { fix }), cause })

/** The message, and the first place that is neither inside Node nor in here: the user's own line. */
const placeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const lines = (error.stack ?? '').split('\n').map((line) => line.trim())
  const place = lines.find((line) => PLACE.test(line) && !line.includes(HERE))
  return place ? `${error.name}: ${error.message}\n  ${place}` : `${error.name}: ${error.message}`
}

/** A file by itself, as of a mistake in the syntax, or a line of the stack; the message may hold a file's name, too. */
const PLACE = /^(at (async )?(.*\()?)?(file:\/\/|\/)/
const HERE = pathToFileURL(dirname(import.meta.dirname)).href
