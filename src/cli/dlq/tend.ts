import type { Command } from 'commander'
import { systemClock } from '../../adapters/system/clock.ts'
import type { Millis } from '../../core/time.ts'
import { type ActingFlags, actingOf, withActing } from '../acting.ts'
import { action, type Ended } from '../action.ts'
import { asDuration } from '../options.ts'
import { say, sayJson } from '../print/say.ts'
import { groupText } from './group.ts'
import { openLetters } from './office.ts'

interface TendFlags extends ActingFlags {
  readonly owner?: string
  readonly note?: string
  readonly ticket?: string
  readonly snooze?: Millis | false
}

export const registerTend = (dlq: Command): void => {
  withActing(dlq.command('tend'))
    .description("say who is on a group and what is known of it; an empty text ('') takes it away")
    .argument('<group>', 'its fingerprint, or the beginning of it')
    .option('--owner <name>', 'who is on it')
    .option('--note <text>', 'what is known')
    .option('--ticket <text>', 'where it is followed')
    .option('--snooze <duration>', 'for so long it comes last', asDuration)
    .option('--no-snooze', 'it comes where it belongs again')
    .action(action(tend))
}

const tend = async (flags: TendFlags, typed: string): Promise<Ended> => {
  await using opened = await openLetters(flags)
  const { office } = opened.app
  const said = (['owner', 'note', 'ticket'] as const).flatMap((name) => {
    const text = flags[name]
    return text === undefined ? [] : [[name, text === '' ? null : text] as const]
  })
  // commander: true where neither --snooze nor --no-snooze was written
  const { snooze } = flags as { snooze?: Millis | boolean }
  const until = snooze === false ? { snooze: null } : typeof snooze === 'number' ? { snooze } : {}
  const { fingerprint } = await office.tend(typed, { ...Object.fromEntries(said), ...until }, actingOf(flags))
  const group = await office.group(fingerprint)
  if (flags.json) sayJson(group)
  else say(groupText(group, systemClock.now()))
}
