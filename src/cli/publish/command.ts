import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { Option } from 'commander'
import { ReprieveError } from '../../core/error.ts'
import { isJsonType, type Priority } from '../../core/event.ts'
import { DEFAULT_URL, type Reprieve, reprieve } from '../../reprieve.ts'
import type { PublishOptions } from '../../runtime/handler.ts'
import { action, type Ended } from '../action.ts'
import { asHeader, type Common, openOptions, storeUrl } from '../options.ts'
import { checkPlaces, whatIsNew } from '../places.ts'
import { inert } from '../print/inert.ts'
import { remark, say, sayJson } from '../print/say.ts'
import { inputFrom } from './lines.ts'
import { publishLines, type SoFar, type Stopped, type Streamed } from './stream.ts'

interface Flags extends Common {
  readonly file?: string
  readonly id?: string
  readonly source?: string
  readonly subject?: string
  readonly orderKey?: string
  readonly correlationId?: string
  readonly priority?: Priority
  readonly expires?: string
  readonly header?: Readonly<Record<string, string>>
  readonly contentType?: string
}

export const registerPublish = (program: Command): void => {
  program
    .command('publish')
    .description('publish one event, or a stream of them')
    .argument('[type]', "the event's type; - reads events as JSON lines from stdin")
    .argument('[data]', 'its data: JSON text, or @file')
    .option('--file <file>', 'publish JSON lines: a CloudEvent each, or {"type": …, "data": …}')
    .option('--id <id>', "the event's id (else a new one)")
    .option('--source <uri>', 'where it comes from')
    .option('--subject <text>', 'what it is about')
    .option('--order-key <key>', 'events with one key are handled in order')
    .option('--correlation-id <id>')
    .addOption(new Option('--priority <priority>').choices(['low', 'normal', 'high', 'critical']))
    .option('--expires <time>', 'RFC 3339; later it is not worth handling')
    .option('--header <name=value>', 'a header of the message; may be repeated', asHeader)
    .option('--content-type <type>', 'of the data (else application/json)')
    .action(action(publish))
}

const publish = async (flags: Flags, type?: string, data?: string): Promise<Ended> => {
  const file = flags.file ?? (type === '-' ? '-' : undefined)
  if (file === undefined) return publishOne(flags, type, data)
  if (data !== undefined || (type !== undefined && type !== '-')) {
    throw usage('a stream of events has no type or data of its own', 'leave them out: each line says its own')
  }
  const given = OF_ONE.filter((name) => flags[name] !== undefined)
  if (given.length > 0) {
    const names = given.map((name) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`)
    throw usage(
      `a stream of events takes no ${names.join(' and no ')}`,
      'leave it out: each line says its own, like {"type":"a","id":"1","headers":{"h":"v"},"data":{}}',
    )
  }
  return publishMany(flags, file)
}

/** What is said of one event; of a stream each line says it. */
const OF_ONE = [
  'id',
  'source',
  'subject',
  'orderKey',
  'correlationId',
  'priority',
  'expires',
  'header',
  'contentType',
] as const satisfies readonly (keyof Flags)[]

const publishOne = async (flags: Flags, type: string | undefined, text?: string): Promise<Ended> => {
  if (type === undefined) {
    throw usage(
      'nothing to publish',
      'name a type and its data, like reprieve publish todo.task.created \'{"id":"t-1"}\', or use --file or -',
    )
  }
  const data = await readData(text, flags.contentType)
  const { app, heard } = await open(flags)
  await using _ = app
  const id = await heard(app.publish(type, data, publishOptions(flags, data !== undefined)))
  if (flags.json) sayJson({ id })
  else say(inert(id))
}

/** The bytes as they were given: what looks like JSON is checked, and not written anew. */
const readData = async (text: string | undefined, contentType?: string): Promise<Uint8Array | undefined> => {
  if (text === undefined) return undefined
  const bytes = text.startsWith('@') ? await readBytes(text.slice(1)) : Buffer.from(text)
  if (!isJsonType(contentType)) return bytes
  try {
    JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw usage(
      `the data is not JSON: ${(error as Error).message}`,
      'quote it for the shell, like \'{"id":"t-1"}\', or say what it is with --content-type text/plain',
    )
  }
  return bytes
}

const readBytes = (file: string): Promise<Buffer> =>
  readFile(file).catch((error: Error) => {
    throw usage(`the data can't be read: ${error.message}`, 'after @ comes the path of a file')
  })

const publishOptions = (flags: Flags, hasData: boolean): PublishOptions => {
  const { id, source, subject, orderKey, correlationId, priority, expires } = flags
  const given = { id, source, subject, orderKey, correlationId, priority, expires, headers: flags.header }
  const known = Object.entries(given).filter(([, value]) => value !== undefined)
  return {
    ...Object.fromEntries(known),
    ...(hasData && { datacontenttype: flags.contentType ?? 'application/json' }),
  }
}

const publishMany = async (flags: Flags, file: string): Promise<Ended> => {
  const input = await inputFrom(file)
  const { app, heard } = await open(flags)
  await using _ = app
  let soFar: SoFar = { published: 0, line: 1, through: 1 }
  // who ends it in the middle must know where to go on
  const leave = (signal: NodeJS.Signals) => {
    tellStreamed(flags, { published: soFar.published, stopped: { ...soFar, because: 'ended by a signal' } })
    stay()
    // exit() would wait for a read from a named pipe to which nobody writes
    process.kill(process.pid, signal)
  }
  const stay = () => process.off('SIGINT', leave).off('SIGTERM', leave)
  process.on('SIGINT', leave).on('SIGTERM', leave)
  const streamed = await publishLines(
    input,
    (events) => heard(app.publishEvents(events)),
    (progress) => {
      soFar = progress
    },
  )
  stay()
  tellStreamed(flags, streamed)
  return streamed.stopped ? 1 : 0
}

const tellStreamed = ({ json }: Flags, { published, stopped }: Streamed): void => {
  if (json) {
    const { line, through, because, fix } = stopped ?? {}
    sayJson({ published, ...(stopped && { stopped: { line, through, because, fix } }) })
    return
  }
  const count = `${published} ${published === 1 ? 'event' : 'events'}`
  say(stopped ? `${count} published, those before line ${stopped.line}` : `${count} published`)
  if (stopped) remark(`reprieve: ${whyStopped(stopped)}`)
}

const whyStopped = ({ line, through, because, fix }: Stopped): string => {
  const where = through > line ? `lines ${line} to ${through}` : `line ${line}`
  return `${where}: ${inert(because)}${fix ? `\n  fix: ${inert(fix)}` : ''}`
}

interface Opened {
  readonly app: Reprieve
  /** Says where nobody was subscribed. */
  heard<T>(publishing: Promise<T>): Promise<T>
}

/**
 * Without an office: whoever only publishes takes over nothing. And without making a file: in one that is not there nobody is
 * subscribed, so that what is published is looked at, and refused, all the same.
 */
const open = async (flags: Flags): Promise<Opened> => {
  await checkPlaces(flags)
  const { transport = DEFAULT_URL } = flags
  const nowhere = await whatIsNew(transport)
  const store = nowhere === undefined && (await whatIsNew(storeUrl(flags))) !== undefined
  const app = await reprieve({
    ...openOptions(flags),
    ...(nowhere !== undefined && { transport: MEMORY }),
    ...(store && { store: MEMORY }),
    office: false,
  })
  const heard = <T>(publishing: Promise<T>): Promise<T> =>
    publishing.catch((error: unknown) => {
      const unheard = error instanceof ReprieveError && error.code === 'unheard' && nowhere !== undefined
      if (!unheard) throw error
      throw new ReprieveError('unheard', `${nowhere}, so ${error.message.split('\n')[0]}`, {
        fix: 'name the file that the app uses, like --transport sqlite:app.db, or start the app on it first',
      })
    })
  return { app, heard }
}

const MEMORY = 'memory:'

const usage = (message: string, fix: string): ReprieveError =>
  new ReprieveError('bad_usage', message, { fix })
