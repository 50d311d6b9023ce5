import type { Desk } from '../contracts/desk.ts'
import type { KeptLetter, LetterState, Letters } from '../contracts/letters.ts'
import type { Clock } from '../contracts/tools.ts'
import { canonical } from '../core/canonical.ts'
import { type Change, type Changed, contentDifferences, readChange } from '../core/change.ts'
import { ReprieveError } from '../core/error.ts'
import type { Event } from '../core/event.ts'
import type { Json } from '../core/json.ts'
import type { Difference } from '../core/json-paths.ts'
import { contentHash, currentEvent, type Repair } from '../core/repair.ts'
import { type Acting, type ActingOnMany, type createActor, setOf } from './acting.ts'
import { chosenBy, frozenIds, type Selection } from './selection.ts'

/** Mending letters before they are replayed. The letter stays as it died; what is mended is a version beside it. */
export interface Repairing {
  /**
   * Makes a version of each letter, which a replay sends from then on. Of many they are done in batches, each with its
   * entry in the audit; done again after it was stopped it goes on where it was: a letter whose newest version was made by
   * this very change is passed by.
   */
  repair(letters: Selection, change: Change, options?: RepairOptions): Promise<RepairResult>
  /** Goes back to an earlier version, as a new one; 0 is the letter as it died. */
  undo(id: string, to: number, by?: Acting): Promise<Repair>
  /** Each version against the one before it, the oldest first. */
  versions(id: string): Promise<readonly VersionStory[]>
}

export interface RepairOptions extends ActingOnMany {
  /** Only tells what it would do. */
  readonly dryRun?: boolean
}

export interface RepairResult {
  /** Ids of letters that were repaired, or would be. */
  readonly repaired: readonly string[]
  /** What differs, of the first hundred of them. */
  readonly differences: readonly { readonly id: string; readonly differences: readonly Difference[] }[]
  /** Letters the change does not fit, and why. */
  readonly skipped: readonly { readonly id: string; readonly because: string }[]
  /** Whether a schema was at hand to check them against. */
  readonly checked: number
}

export interface VersionStory extends Omit<Repair, 'headers' | 'data'> {
  readonly differences: readonly Difference[]
}

/** Why a handler would refuse what the event carries. Absent: no schema is known here. */
export type CheckFor = (
  service: string,
  type: string,
) => ((event: Event) => Promise<string | undefined>) | undefined

const BATCH = 50
const MOST_SHOWN = 100
const MOST_CHANGE = 2000
const FROM: readonly LetterState[] = ['open', 'quarantined']

export const createRepairing = (
  letters: Letters,
  clock: Clock,
  actor: ReturnType<typeof createActor>,
  checkFor: CheckFor = () => undefined,
): Repairing => {
  const one = async (id: string): Promise<KeptLetter> => {
    const [kept] = await letters.find({ ids: [id] }, 1)
    if (kept) return kept
    throw new ReprieveError('unknown_letter', `no dead letter has the id ${id}`, {
      fix: 'take an id from `reprieve dlq list`',
    })
  }

  /** What the change makes of a letter, or why it does not fit. */
  const tried = async (kept: KeptLetter, apply: (event: Event) => Changed, change: Json) => {
    const { letter, repair, state } = kept
    if (!FROM.includes(state)) return refused(`it is ${state}`)
    if (repair && canonical(repair.change) === canonical(change)) return refused('it was repaired so already')
    const event = currentEvent(letter, repair)
    const changed = apply(event)
    if (changed.is === 'no fit') return { ...changed, checked: 0 }
    const check = checkFor(letter.service, letter.event.type)
    const fault = await check?.({ ...event, ...changed.content })
    if (fault !== undefined) return refused(`it would not fit its schema: ${fault}`)
    return { ...changed, checked: check ? 1 : 0 }
  }

  const newRepair = (
    { letter, repair }: KeptLetter,
    content: Pick<Repair, 'headers' | 'data'>,
    change: Json,
    { at, who, reason }: Pick<Repair, 'at' | 'who' | 'reason'>,
  ): Repair => ({
    ...{ version: (repair?.version ?? 0) + 1, at, who, change, ...content },
    ...(reason !== undefined && { reason }),
    before: contentHash(currentEvent(letter, repair)),
    hash: contentHash(content),
  })

  return {
    repair: async (selection, asked, { dryRun = false, ...by } = {}) => {
      const apply = readChange(asked)
      const change = shortOf(JSON.parse(JSON.stringify(asked)) as Json)
      const desk = deskOf(letters)
      actor(by, 'repair') // a name that can't be written is refused before anything is done
      const ids = await frozenIds(letters, selection, FROM)
      const act = actor(by, 'repair', { change, ...chosenBy(selection), ...setOf(ids, BATCH) })
      const result = { repaired: [] as string[], differences: [] as RepairResult['differences'][number][] }
      const skipped: RepairResult['skipped'][number][] = []
      let checked = 0
      for (let i = 0; i < ids.length; i += BATCH) {
        by.onProgress?.(i, ids.length)
        const some = ids.slice(i, i + BATCH)
        const found = new Map(
          (await letters.find({ ids: some }, BATCH)).map((each) => [each.letter.id, each]),
        )
        const at = clock.now()
        const fit: {
          id: string
          from: readonly LetterState[]
          repair: Repair
          told: readonly Difference[]
        }[] = []
        for (const id of some) {
          const kept = found.get(id)
          const answer = kept ? await tried(kept, apply, change) : refused('no letter has this id')
          if (answer.is === 'no fit') skipped.push({ id, because: answer.why })
          else {
            checked += answer.checked
            const repair = newRepair(kept!, answer.content, change, { ...act, at })
            fit.push({ id, from: FROM, repair, told: answer.differences })
          }
        }
        const done = dryRun ? fit.map(() => true) : await desk.repair(fit, { ...act, at })
        for (const [n, { id, told }] of fit.entries()) {
          if (!done[n]) skipped.push({ id, because: 'somebody else was at it' })
          else {
            result.repaired.push(id)
            if (result.differences.length < MOST_SHOWN) result.differences.push({ id, differences: told })
          }
        }
        await clock.sleep(0) // of many nobody else is kept waiting
      }
      by.onProgress?.(ids.length, ids.length)
      return { ...result, skipped, checked }
    },
    undo: async (id, to, by = {}) => {
      const desk = deskOf(letters)
      const kept = await one(id)
      const versions = await desk.versions(id)
      const content = to === 0 ? kept.letter.event : versions.find(({ version }) => version === to)
      if (!content || to === (kept.repair?.version ?? 0)) {
        throw new ReprieveError('bad_usage', `letter ${id} has no earlier version ${to}`, {
          fix: 'see its versions with `reprieve dlq diff`; 0 is the letter as it died',
        })
      }
      const { headers, data } = content
      const act = { ...actor(by, 'repair', { undo: to }), at: clock.now() }
      const repair = newRepair(kept, { headers, data }, { undo: to }, act)
      const [done] = await desk.repair([{ id, from: FROM, repair }], act)
      if (done) return repair
      throw new ReprieveError(
        'bad_usage',
        `letter ${id} was not repaired: it is ${(await one(id)).state}, or somebody else was at it`,
      )
    },
    versions: async (id) => {
      const { letter } = await one(id)
      const versions = (await letters.desk?.versions(id)) ?? []
      return versions.map(({ headers, data, ...version }, i) => ({
        ...version,
        differences: contentDifferences(letter.event, versions[i - 1] ?? letter.event, { headers, data }),
      }))
    },
  }
}

const refused = (why: string) => ({ is: 'no fit', why, checked: 0 }) as const

/** A change may hold large bodies; with each version and in the audit a hash stands for such a one. */
const shortOf = (change: Json): Json => {
  const text = canonical(change)
  return text.length <= MOST_CHANGE
    ? change
    : { large: contentHash({ headers: {}, data: Buffer.from(text) }) }
}

export const deskOf = ({ desk }: Letters): Desk => {
  if (desk) return desk
  throw new ReprieveError('bad_usage', 'the store of these letters can only mark them', {
    fix: 'keep letters in sqlite: or postgres://',
  })
}
