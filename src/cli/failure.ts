import { CommanderError } from 'commander'
import { type ErrorCode, ReprieveError } from '../core/error.ts'
import { withoutFix } from './print/fix.ts'
import { inert, inertLines, toJsonLine } from './print/inert.ts'
import { badOnStderr } from './print/paint.ts'
import { remark } from './print/say.ts'

/** 0 fine · 1 found something wrong · 2 used wrongly · 130 left by a signal before the end */
export type ExitCode = 0 | 1 | 2 | 130

/** What the caller wrote is at fault, not the world he asked about. */
const USED_WRONGLY: ReadonlySet<ErrorCode> = new Set([
  'bad_event',
  'bad_filter',
  'bad_handlers',
  'bad_rules',
  'bad_url',
  'bad_usage',
  'client_missing',
  'no_order',
])

/** Tells what went wrong, and answers with the exit code that says the same. */
export const fail = (error: unknown, json: boolean): ExitCode => {
  if (error instanceof CommanderError) return afterCommander(error, json)
  if (error instanceof ReprieveError) {
    const { code, fix } = error
    tell(json, { code, message: withoutFix(error), fix: fix ?? null }, error.message)
    return USED_WRONGLY.has(code) ? 2 : 1
  }
  // not one of the mistakes we know: whoever mends it needs the place
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  tell(json, { code: 'unexpected', message, fix: null }, stack ?? message)
  return 1
}

interface Told {
  readonly code: string
  readonly message: string
  readonly fix: string | null
}

const tell = (json: boolean, error: Told, text: string): void =>
  remark(json ? toJsonLine({ error }) : `${badOnStderr('reprieve:')} ${inertLines(text)}`)

/** Help that was asked for is no mistake. */
const afterCommander = ({ code, message }: CommanderError, json: boolean): ExitCode => {
  if (code === 'commander.helpDisplayed' || code === 'commander.version') return 0
  if (json && code !== 'commander.help') {
    tell(true, { code: 'bad_usage', message: inert(message.replace(/^error: /, '')), fix: null }, message)
  }
  return 2
}
