import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Item, KeptOperation } from '../../contracts/operations.ts'
import { LETTER_STATES } from '../../core/letter.ts'
import { OVERRIDES, type Override } from '../../core/operation.ts'
import type { Millis } from '../../core/time.ts'
import type { Office, PlanOptions } from '../../office/index.ts'
import { type ActingFlags, actingOf, withActing } from '../acting.ts'
import { action, type Ended } from '../action.ts'
import { asDuration } from '../options.ts'
import { inert } from '../print/inert.ts'
import { remark, say, sayJson } from '../print/say.ts'
import { tellElsewhere } from './elsewhere.ts'
import { withFilter, withState } from './filter.ts'
import { openOffice } from './office.ts'
import { operationText, totalOf } from './operation-text.ts'
import { asFilter, checkSelection, type SelectionFlags, selectionOf } from './selection.ts'
import { watchOperation } from './watch.ts'

interface ReplayFlags extends SelectionFlags, ActingFlags, PaceFlags {
  readonly wait?: Millis
  readonly canary?: number
  readonly although?: readonly Override[]
  readonly target?: string
}

export interface PaceFlags {
  readonly dryRun?: true
  readonly batch?: number
  readonly rate?: number
  readonly watch?: true
  readonly jsonl?: true
}

export const withPace = (command: Command, all = 'all that are open'): Command =>
  command
    .option('--all', all)
    .option(
      '--dry-run',
      'freeze the set and tell what would be done with each letter; it waits to be resumed or cancelled, and no other operation has those letters until it expires',
    )
    .option('--batch <count>', 'so many letters in one step', asNumber(1, 1000))
    .option('--rate <count>', 'so many letters a second, like 50/s', asRate)
    .option('--watch', 'stay until the last of them has ended')
    .option('--jsonl', 'a line of JSON for each step, for programs')

const STATE = "in this state, else what is open; others go only --although 'already done' or 'on its way'"

export const registerReplay = (dlq: Command): void => {
  withState(withPace(withActing(withFilter(dlq.command('replay')))), LETTER_STATES, STATE)
    .description('send dead letters back to the service that failed')
    .argument('[ids...]', 'ids of letters, or their beginnings')
    .option('--wait <duration>', 'wait so long to hear how they ended', asDuration)
    .option(
      '--canary <count>',
      'so many first, and the others only when these are well; 0 for none',
      asNumber(0, 10_000),
    )
    .addOption(
      new Option('--although <word>', 'send letters although this speaks against it')
        .choices(OVERRIDES)
        .argParser(asOverride),
    )
    .option('--target <where>', "'topic' for all that are subscribed, or the name of another service")
    .action(action(replay))
}

const replay = async (flags: ReplayFlags, typed: readonly string[]): Promise<Ended> => {
  checkSelection('replay', flags, typed, { all: true })
  await using opened = await openOffice(flags)
  const { office } = opened.app
  const { operations } = office
  const letters = await selectionOf(office, flags, typed)
  const planned = await operations.plan(asFilter(letters), planOf(flags), actingOf(flags))
  const { id, state } = planned.operation
  if (fitsNothing(planned)) return tellNothing(planned, flags)
  if (!flags.json && !flags.jsonl) await tellElsewhere(office, planned)
  if (flags.dryRun || state === 'needs approval') return tellPlanned(planned, flags)
  await operations.start(id, actingOf(flags))
  // from here on it works on it, and takes over what arrives: receipts, and letters of those that died again
  const stays = flags.watch || flags.wait !== undefined || planned.operation.plan.canary !== undefined
  if (stays) await office.open(opened.destinations)
  else await operations.work(id)
  const heard = flags.watch === true || flags.wait !== undefined
  const kept = stays
    ? await watchOperation(office, id, {
        until: heard ? 'end' : 'sent',
        ...(flags.wait !== undefined && !flags.watch && { most: flags.wait }),
        jsonl: flags.jsonl,
        quiet: flags.json || (!flags.watch && flags.canary === undefined),
      })
    : await operations.show(id)
  return await tell(office, kept, flags, heard)
}

const planOf = ({ canary, batch, rate, although, target }: ReplayFlags): PlanOptions => ({
  ...(canary !== undefined && { canary }),
  ...(batch !== undefined && { batch }),
  ...(rate !== undefined && { rate }),
  ...(although && { although }),
  ...(target !== undefined && { to: target === 'topic' ? target : { service: target } }),
})

/** What would be done, or waits for a second person. */
export const tellPlanned = (planned: KeptOperation, { json, jsonl }: SelectionFlags & PaceFlags): Ended => {
  const { id, kind, state } = planned.operation
  if (json || jsonl) sayJson(planned)
  else {
    say(operationText(planned))
    const next =
      state === 'needs approval'
        ? `someone else approves it: reprieve dlq approve ${id}`
        : `begin it: reprieve dlq operation resume ${id}, or give it up: reprieve dlq operation cancel ${id}`
    remark(`no letter was ${kind === 'purge' ? 'purged' : 'sent'}; ${next}`)
  }
  return 0
}

/** Nothing is left of it: its operation is over already. */
export const fitsNothing = (planned: KeptOperation): boolean => totalOf(planned) === 0

/** Most likely a slip, but for who asked for all there is. */
export const tellNothing = (planned: KeptOperation, flags: SelectionFlags & PaceFlags): Ended => {
  const { id, state, because } = planned.operation
  if (flags.jsonl || (flags.json && (flags.dryRun || planned.operation.kind === 'purge'))) sayJson(planned)
  else if (flags.json) sayJson({ operation: id, state, because, sent: [], skipped: [] })
  else say('no dead letter fits')
  return flags.all ? 0 : 1
}

const tell = async (
  office: Office,
  kept: KeptOperation,
  flags: ReplayFlags,
  heard: boolean,
): Promise<Ended> => {
  const { operation, counts } = kept
  const onTheWay = counts.sending + counts.sent
  const endings = { resolved: counts.resolved, deadAgain: counts['dead again'], onTheWay }
  const left = counts.skipped + counts.failed + counts.waiting
  if (flags.json) {
    const items = await allItems(office, operation.id)
    const notSent = items.filter(({ state }) => isNotSent(state))
    sayJson({
      operation: operation.id,
      state: operation.state,
      sent: items.filter(({ state }) => !isNotSent(state)).map(({ letter }) => letter),
      skipped: notSent.map(({ letter: each, state, because = state }) => ({ id: each, because })),
      ...(heard && { endings }),
    })
  } else if (flags.jsonl) sayJson(kept)
  else {
    const sent = onTheWay + counts.resolved + counts['dead again']
    say(`${sent} sent`)
    const notSent = counts.skipped + counts.failed
    if (notSent > 0) await tellLeft(office, operation.id, notSent)
    if (counts.waiting > 0) say(`${counts.waiting} not sent`)
    if (operation.because !== undefined) say(`${operation.state}: ${inert(operation.because)}`)
    else if (operation.paused) say(`paused: ${inert(operation.paused.because ?? operation.paused.by)}`)
    if (heard) {
      say(`${endings.resolved} resolved, ${endings.deadAgain} dead again, ${onTheWay} still on the way`)
      if (onTheWay > 0)
        remark(`those on the way end when their service runs: reprieve dlq operation show ${operation.id}`)
    }
  }
  return left > 0 || (heard && endings.deadAgain + onTheWay > 0) ? 1 : 0
}

const MOST_TOLD = 20

const tellLeft = async (office: Office, id: string, count: number): Promise<void> => {
  const some = await office.operations.items(id, { states: ['skipped', 'failed'], limit: MOST_TOLD })
  for (const { letter, state, because = state } of some)
    remark(`${inert(letter)} not sent: ${inert(because)}`)
  if (count > some.length)
    remark(`and ${count - some.length} more: reprieve dlq operation show ${id} --items`)
}

const NOT_SENT = ['waiting', 'skipped', 'failed'] as const
const isNotSent = (state: Item['state']): boolean => (NOT_SENT as readonly string[]).includes(state)

const PAGE = 500

const allItems = async ({ operations }: Office, id: string): Promise<readonly Item[]> => {
  const all: Item[] = []
  for (;;) {
    const after = all.at(-1)?.place
    const page = await operations.items(id, { limit: PAGE, ...(after !== undefined && { after }) })
    all.push(...page)
    if (page.length < PAGE) return all
  }
}

const asNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const count = Number(text)
    if (/^\d+$/.test(text) && count >= least && count <= most) return count
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`)
  }

const asRate = (text: string): number => {
  const rate = Number(/^(\d+(?:\.\d+)?)(?:\/s)?$/.exec(text)?.[1])
  if (rate >= 0.01 && rate <= 1_000_000) return rate
  throw new InvalidArgumentError('It must be a number of letters a second, like 50 or 50/s.')
}

const asOverride = (text: string, before: readonly Override[] = []): readonly Override[] => {
  const word = OVERRIDES.find((each) => each === text)
  if (word) return [...before, word]
  throw new InvalidArgumentError(`Allowed choices are ${OVERRIDES.join(', ')}.`)
}
