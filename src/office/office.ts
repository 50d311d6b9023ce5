import type { KeptLetter, LetterFilter } from '../contracts/letters.ts'
import type { AppStore } from '../contracts/store.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Destination, Transport } from '../contracts/transport.ts'
import type { ActName, ActOnLetters } from '../core/acts.ts'
import type { Details } from '../core/audit.ts'
import { ReprieveError } from '../core/error.ts'
import { whyStays } from '../core/found.ts'
import type { Letter } from '../core/letter.ts'
import { redactedAt } from '../core/redact.ts'
import type { Millis } from '../core/time.ts'
import { emptyBook, type RuleBook } from '../rules/index.ts'
import { type Acting, createActor, setOf } from './acting.ts'
import { deadKeysAt } from './dead-keys.ts'
import { createFiling, type Filing } from './filing.ts'
import { createFinding, type Finding } from './finding.ts'
import { keepingOf } from './found.ts'
import { type Intake, openIntake } from './ingest.ts'
import { type Lives, livesOf } from './lives.ts'
import { createMoving, type Moving } from './moving.ts'
import { type CheckFor, createRepairing, type Repairing } from './repairing.ts'
import { createRetention, type Retention } from './retention.ts'
import { sendLetters } from './send-letters.ts'

/** What an operator can do, once, for command line, library and console alike. */
export interface Office extends Finding, Repairing, Moving, Retention, Filing {
  /** Where receipts of this office's replays arrive. */
  readonly receiptTo: string
  /** Begins to take over what arrives at the destinations, and goes on until close. */
  open(destinations: readonly Destination[]): Promise<void>
  /** Takes over what lies at the destinations now. Answers how many letters and receipts that were. */
  catchUp(destinations: readonly Destination[], stop: AbortSignal): Promise<number>
  list(filter: LetterFilter, limit: number, after?: string): Promise<readonly KeptLetter[]>
  count(filter: LetterFilter): Promise<number>
  show(id: string): Promise<KeptLetter>
  /**
   * Sends letters back to the subscription that failed. A letter named by id goes again though it is on its way, unless
   * the filter names states.
   */
  replay(filter: LetterFilter, by?: Acting): Promise<ReplayResult>
  /** The letters of this event in this service, life by life, and how long this one has. */
  lives(kept: KeptLetter): Promise<Lives>
  /** How many events wait behind a letter because its order key is held (`afterDeath: hold`). */
  behind(letter: Letter): Promise<number>
  close(): Promise<void>
}

export interface ReplayResult {
  /** Ids sent on their way; how they end is told by receipts. */
  readonly sent: readonly string[]
  /** Ids that were asked for and not sent, with the reason. */
  readonly skipped: readonly { readonly id: string; readonly because: string }[]
}

export interface OfficeOptions {
  /** Whose office it is: the name in the audit, where an act has none of its own. */
  readonly as?: string
  readonly transport: Transport
  readonly store: AppStore
  readonly tools: Tools
  /** Says how critical events are; without one all are alike. */
  readonly book?: RuleBook
  /** Schemas that are known here: what is repaired is checked against them. */
  readonly dataCheck?: CheckFor
}

const BATCH = 50
const PAGE = 500
const FOR_EVER: Millis = 100 * 365 * 24 * 60 * 60 * 1000

export const createOffice = async (options: OfficeOptions): Promise<Office> => {
  const { transport, store, tools, book = emptyBook, as: owner = 'somebody', dataCheck } = options
  const { letters, companion } = store
  const { clock, journal } = tools
  const receiptTo = `reprieve.receipts.${await officeName(store, tools)}`
  // beside a broker the companion buries into the store: the office looks there too
  const sources = companion && companion !== transport ? [transport, companion] : [transport]
  const deadKeys = deadKeysAt(sources)
  const actor = createActor(owner, clock.now)
  const finding = createFinding(letters, tools, actor, book)
  const stop = new AbortController()
  let regrouping: Promise<unknown> | undefined
  const opened: { intake: Intake; running: Promise<void> }[] = []

  const intakes = (destinations: readonly Destination[]): Promise<Intake[]> => {
    const all = [...destinations, { name: receiptTo }]
    return Promise.all(
      sources.flatMap((source) =>
        all
          .filter(({ foreign }) => !foreign || source === transport)
          .map((each) => openIntake(source, each, letters, tools, keepingOf(book, each.name))),
      ),
    )
  }

  const actBy = (by: Acting, act: ActName, ids: readonly string[], details: Details = {}) =>
    actor(by, act, { ...details, ...setOf(ids, BATCH) })

  const sendBatch = async (
    batch: readonly KeptLetter[],
    from: readonly ('open' | 'replaying')[],
    act: ActOnLetters,
  ) => {
    const at = clock.now()
    const able = batch.filter(({ letter }) => whyStays(letter) === undefined)
    const marks = able.map(({ letter }) => ({ id: letter.id, from, to: 'replaying' as const, at }))
    const marked = await letters.mark(marks, { ...act, at })
    const ours = able.filter((_, i) => marked[i])
    try {
      const ended = await sendLetters(transport, ours, receiptTo, at)
      await letters.mark(ended.map(({ id }) => ({ id, from: ['replaying'], to: 'resolved', at })))
    } catch (error) {
      // none of the batch is known to be on its way: offered again, and dedup keeps doubles single
      await letters.mark(
        ours.map(({ letter }) => ({ id: letter.id, from: ['replaying'], to: 'open', at })),
        { ...act, at: clock.now(), act: 'replay undone' },
      )
      throw error
    }
    for (const { letter } of ours) journal({ at, is: 'replayed', letter: letter.id, service: letter.service })
    return ours.map(({ letter }) => letter.id)
  }

  /** The ids that fit now: letters that arrive during the replay are no part of it. */
  const select = async (filter: LetterFilter): Promise<readonly string[]> => {
    const ids: string[] = []
    for (;;) {
      const page = await letters.find(filter, PAGE, ids.at(-1))
      ids.push(...page.map(({ letter }) => letter.id))
      if (page.length < PAGE) return ids
    }
  }

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

  return {
    ...finding,
    ...createRepairing(letters, clock, actor, dataCheck),
    ...createMoving({ letters, deadKeys, tools, actor }),
    ...createRetention({ letters, deadKeys, tools, actor, book }),
    ...createFiling(letters, store.audit, tools, actor),
    lives: (kept) => livesOf(letters, kept, book),
    receiptTo,
    open: async (destinations) => {
      for (const intake of await intakes(destinations))
        opened.push({ intake, running: intake.run(stop.signal) })
      regrouping ??= finding.regroup(stop.signal).catch((error: Error) => {
        journal({ at: clock.now(), is: 'trouble', where: 'grouping letters anew', error })
      })
    },
    catchUp: async (destinations, signal) => {
      const once = await intakes(destinations)
      try {
        const taken = await Promise.all(once.map((intake) => intake.catchUp(signal)))
        return taken.reduce((sum, each) => sum + each, 0)
      } finally {
        await Promise.all(once.map((intake) => intake.close()))
      }
    },
    list: (filter, limit, after) => letters.find(filter, limit, after),
    count: (filter) => letters.count(filter),
    show: async (id) => {
      const [found] = await letters.find({ ids: [id] }, 1)
      if (!found) {
        throw new ReprieveError('unknown_letter', `no dead letter has the id ${id}`, {
          fix: 'take an id from `reprieve dlq list`',
        })
      }
      return found
    },
    replay: async (filter, by = {}) => {
      const { ids: _, ...chosen } = filter
      const about = (ids: readonly string[]) => actBy(by, 'replay', ids, { filter: chosen as Details })
      about([]) // a name that can't be written is refused before anything is done
      await prepareReceipts()
      const may = filter.ids ? (['open', 'replaying'] as const) : (['open'] as const)
      const from = may.filter((state) => filter.states?.includes(state) ?? true)
      const frozen = await select({ ...filter, states: from })
      const act = about(frozen)
      const sent: string[] = []
      for (let i = 0; i < frozen.length; i += BATCH) {
        const ids = frozen.slice(i, i + BATCH)
        const batch = await letters.find({ ids }, BATCH)
        // what stands in place of a secret is no event
        const whole = batch.filter(({ letter, repair }) => redactedAt(letter, repair).length === 0)
        if (whole.length > 0) sent.push(...(await sendBatch(whole, from, act)))
      }
      const left = (filter.ids ?? frozen).filter((id) => !sent.includes(id))
      return { sent, skipped: await Promise.all(left.map(async (id) => ({ id, because: await whyNot(id) }))) }
    },
    behind: deadKeys.behind,
    close: async () => {
      stop.abort()
      await regrouping
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
