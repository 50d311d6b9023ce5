import type { Board } from '../contracts/board.ts'
import type { KeptLetter, LetterFilter } from '../contracts/letters.ts'
import type { AppStore } from '../contracts/store.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Destination, Transport } from '../contracts/transport.ts'
import { ReprieveError } from '../core/error.ts'
import { whyStays } from '../core/found.ts'
import type { Letter } from '../core/letter.ts'
import { redactedAt } from '../core/redact.ts'
import { checkFilter } from '../core/sift.ts'
import type { Millis } from '../core/time.ts'
import { emptyBook, type RuleBook } from '../rules/index.ts'
import { createActor } from './acting.ts'
import { createChecks } from './checks.ts'
import { deadKeysAt } from './dead-keys.ts'
import { createFiling, type Filing } from './filing.ts'
import { createFinding, type Finding } from './finding.ts'
import { keepingOf } from './found.ts'
import { type Intake, openIntake } from './ingest.ts'
import { type Lives, livesOf } from './lives.ts'
import { createMoving, type Moving } from './moving.ts'
import { createOperations, type OperationsDesk } from './operations.ts'
import { createPlanning } from './planning.ts'
import { createQuick, type ReplayOptions, type ReplayResult } from './quick.ts'
import { type CheckFor, createRepairing, type Repairing } from './repairing.ts'
import { createRetention, type Retention } from './retention.ts'
import { createSending } from './sending.ts'
import { createWorking } from './working.ts'

/** What an operator can do, once, for command line, library and console alike. */
export interface Office extends Finding, Repairing, Moving, Retention, Filing {
  /** Where receipts of this office's replays arrive. */
  readonly receiptTo: string
  /** Begins to take over what arrives at the destinations, those that are new to it, and goes on until close. */
  open(destinations: readonly Destination[]): Promise<void>
  /** Takes over what lies at the destinations now. Answers how many letters and receipts that were. */
  catchUp(destinations: readonly Destination[], stop: AbortSignal): Promise<number>
  /** The newest first, at most `limit` (50 unless told), after the letter `after`. */
  list(filter?: LetterFilter, limit?: number, after?: string): Promise<readonly KeptLetter[]>
  count(filter: LetterFilter): Promise<number>
  show(id: string): Promise<KeptLetter>
  /**
   * Sends letters back to the subscription that failed: a small operation, begun at once. One that is on its way already goes
   * again only where that is passed over on purpose (`although: ['on its way']`): a letter has one live replay.
   */
  replay(filter: LetterFilter, by?: ReplayOptions): Promise<ReplayResult>
  /** Replays and purges of whole sets, with dry run, approval, canaries and progress. */
  readonly operations: OperationsDesk
  /** The letters of this event in this service, life by life, and how long this one has. */
  lives(kept: KeptLetter): Promise<Lives>
  /** How many events wait behind a letter because its order key is held (`afterDeath: hold`). */
  behind(letter: Letter): Promise<number>
  close(): Promise<void>
}

export interface OfficeOptions {
  /** Whose office it is: the name in the audit, where an act has none of its own. */
  readonly as?: string
  readonly transport: Transport
  readonly store: AppStore
  readonly tools: Tools
  /** Says how critical events are; without one all are alike. */
  readonly book?: RuleBook
  /** Schemas that are known here: what is repaired or replayed is checked against them. */
  readonly dataCheck?: CheckFor
  /** Where breakers stand, where that is not the store's own board. */
  readonly board?: Board
}

const FOR_EVER: Millis = 100 * 365 * 24 * 60 * 60 * 1000

export const createOffice = async (options: OfficeOptions): Promise<Office> => {
  const { transport, store, tools, book = emptyBook, as: owner = 'somebody', dataCheck } = options
  const { letters, companion } = store
  const { clock } = tools
  const receiptTo = `${book.naming.receipts}.${await officeName(store, tools)}`
  // beside a broker the companion buries into the store: the office looks there too
  const sources = companion && companion !== transport ? [transport, companion] : [transport]
  const deadKeys = deadKeysAt(sources)
  const actor = createActor(owner, clock.now)
  const finding = createFinding(letters, tools, actor, book)
  const stop = new AbortController()
  let workingOff: Promise<void> | undefined
  const opened: { intake: Intake; running: Promise<void> }[] = []

  const names = new Set<string>()

  /** A way to open each, in each source that has it. */
  const sourcesOf = (destinations: readonly Destination[]): readonly (() => Promise<Intake>)[] =>
    sources.flatMap((source) =>
      destinations
        .filter(({ foreign }) => !foreign || source === transport)
        .map((each) => () => openIntake(source, each, letters, tools, keepingOf(book, each.name))),
    )

  /** A receipt must find its destination: it is made ready before the first parcel leaves. */
  const prepareReceipts = async (): Promise<void> => {
    for (const source of sources) await (await source.collect({ name: receiptTo })).close()
  }

  const whyNot = async (id: string): Promise<string> => {
    const [found] = await letters.find({ ids: [id] }, 1)
    if (!found) return 'no letter has this id'
    const hidden = redactedAt(found.letter, found.repair)
    if (hidden.length > 0) return `it was redacted at ${hidden.join(', ')}: repair it there first`
    return (found.state === 'open' && whyStays(found.letter)) || `it is ${found.state}`
  }

  const checks = createChecks(book, options.board ?? store.board, clock.now, letters, dataCheck)
  const { operations } = store
  const sending = createSending({ operations, letters, transport, receiptTo, tools, book, checks, deadKeys })
  const name = tools.dice.uuid()
  const working = createWorking({ operations, tools, sending, name, prepare: prepareReceipts })
  const planning = { operations, letters, tools, book, actor, checks, working, name }
  const freezeFor = createPlanning(planning)
  const quick = createQuick({ operations, working, freezeFor, tools, whyNot })

  return {
    ...finding,
    ...createRepairing(letters, clock, actor, dataCheck),
    ...createMoving({ letters, deadKeys, tools, actor, board: options.board ?? store.board }),
    ...createRetention({ letters, deadKeys, tools, actor, book }),
    ...createFiling(letters, store.audit, tools, actor),
    lives: (kept) => livesOf(letters, kept, book),
    receiptTo,
    open: async (destinations) => {
      const fresh = [...destinations, { name: receiptTo }].filter(({ name }) => !names.has(name))
      for (const intake of await Promise.all(sourcesOf(fresh).map((each) => each())))
        opened.push({ intake, running: intake.run(stop.signal) })
      for (const { name } of fresh) names.add(name)
      workingOff ??= working.run(stop.signal)
    },
    catchUp: async (destinations, signal) => {
      const taking = await Promise.allSettled(
        sourcesOf([...destinations, { name: receiptTo }]).map(async (open) => {
          const intake = await open()
          return intake.catchUp(signal).finally(intake.close)
        }),
      )
      const taken = taking.map((each) => {
        if (each.status === 'rejected') throw each.reason
        return each.value
      })
      return taken.reduce((sum, each) => sum + each, 0)
    },
    list: async (filter = {}, limit = 50, after) => {
      checkFilter(filter)
      return letters.find(filter, limit, after)
    },
    count: async (filter) => {
      checkFilter(filter)
      return letters.count(filter)
    },
    show: async (id) => {
      const [found] = await letters.find({ ids: [id] }, 1)
      if (!found) {
        throw new ReprieveError('unknown_letter', `no dead letter has the id ${id}`, {
          fix: 'take an id from `reprieve dlq list`',
        })
      }
      return found
    },
    operations: createOperations(planning, freezeFor),
    replay: quick,
    behind: deadKeys.behind,
    close: async () => {
      stop.abort()
      await workingOff
      await Promise.all(opened.splice(0).map(({ intake, running }) => running.then(() => intake.close())))
    },
  }
}

/** Each store has one office with a name of its own, so that offices on one broker don't take each other's receipts. */
const officeName = async ({ board }: AppStore, { dice }: Tools): Promise<string> => {
  const known = async () =>
    (await board.read('office/name')).find(({ entry }) => entry === 'office/name')?.value
  const name = await known()
  if (typeof name === 'string') return name
  await board.post('office/name', dice.uuid().replaceAll('-', '').slice(-12), FOR_EVER, 0)
  return String(await known())
}
