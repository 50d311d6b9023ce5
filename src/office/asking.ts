import { CATEGORIES, KINDS } from '../core/failure.ts'
import {
  ANYTHING,
  checkGiven,
  checkNames,
  FLAG,
  FUNCTION,
  INSTANT,
  MILLIS,
  type Names,
  object,
  text,
  texts,
  type Wanted,
  wholeNumber,
  word,
  wordList,
} from '../core/given.ts'
import { LETTER_STATES } from '../core/letter.ts'
import { ITEM_STATES, OVERRIDES } from '../core/operation.ts'
import type { Auditing } from './auditing.ts'
import type { Office } from './office.ts'
import type { OperationsDesk } from './operations.ts'
import type { Hand } from './orders.ts'

/** One argument of a function, looked at: `where` is the function's name. */
type Argument = (where: string, given: unknown) => void

const FILTER: Names = {
  service: text('mail-svc'),
  ids: texts('an id of `reprieve dlq list`'),
  beginning: text('the beginning of an id'),
  topic: text('todo.task'),
  type: text('todo.task.created'),
  category: word(CATEGORIES),
  kind: word(KINDS),
  code: text('ECONNREFUSED'),
  fingerprint: text('a fingerprint of `reprieve dlq groups`'),
  states: wordList(LETTER_STATES),
  from: INSTANT,
  to: INSTANT,
  error: text('connection refused'),
  payload: text('ann@example.org'),
  where: text('$.order.total > 100'),
}
const ACTING: Names = { as: text('ann'), reason: text('the address was mended') }
const WORKING: Names = { ...ACTING, onProgress: FUNCTION }
const LIMIT = wholeNumber(0, 50)
const TENDING: Names = { owner: ANYTHING, note: ANYTHING, ticket: ANYTHING, snooze: ANYTHING }
/** Figures, and what may be passed over, are told with more words when it is planned. */
const PLAN: Names = {
  kind: word(['replay', 'purge']),
  canary: {
    what: 'a number of letters, or an object',
    like: '10, or canary: { size: 10, deaths: 0.1 }',
    fits: (value) => typeof value === 'number' || object('').fits(value),
  },
  to: {
    what: "'topic', or a service",
    like: "{ service: 'mail-svc' }",
    fits: (value) =>
      value === 'topic' ||
      (object('').fits(value) && typeof (value as { service?: unknown }).service === 'string'),
  },
  ...{ rate: ANYTHING, batch: ANYTHING, although: texts(OVERRIDES[0]) },
}
const ORDERING: Names = { by: text('ann'), reason: text('smtp is down'), lasts: MILLIS }

const one =
  (name: string, wanted: Wanted): Argument =>
  (where, given) =>
    checkGiven(where, name, given, wanted)
const perhaps =
  (name: string, wanted: Wanted): Argument =>
  (where, given) => {
    if (given !== undefined) checkGiven(where, name, given, wanted)
  }
const all =
  (...arguments_: readonly Argument[]): Argument =>
  (where, given) => {
    for (const argument of arguments_) argument(where, given)
  }
const named =
  (names: Names): Argument =>
  (where, given) =>
    checkNames(where, given, names)

/** A name that it does not know would be passed over, and all letters fit what is left: a purge of one service would take all. */
const filter: Argument = (where, given) =>
  checkNames(where, given, FILTER, { code: 'bad_filter', only: true, called: 'filter' })
const someFilter = all(one('the filter', object("{ service: 'mail-svc' }")), filter)
/** The letters of a text would be names of a filter. */
const selection: Argument = (where, given) =>
  Array.isArray(given)
    ? one('the letters', texts('an id of `reprieve dlq list`'))(where, given)
    : someFilter(where, given)

const id = one('the id', text('an id of `reprieve dlq list`'))
const operation = one('the id', text('an id of `reprieve dlq operations`'))
const fingerprint = one('the fingerprint', text('a fingerprint of `reprieve dlq groups`'))
const service = one('the service', text('mail-svc'))
const change = one('the change', object("{ set: { '$.owner': 'ann' } }"))
const kept = one('the letter', object('what office.show(id) answers'))
const destinations = one('the destinations', {
  what: 'a list of destinations',
  like: "[{ name: 'mail-svc.dead' }]",
  fits: Array.isArray,
})
const acting = named(ACTING)
const working = named(WORKING)
const exporting = named({ ...ACTING, after: text('the id of the last letter') })

type Table<Desk> = { readonly [name in keyof Desk]?: readonly Argument[] }

const OFFICE: Table<Office> = {
  open: [destinations],
  catchUp: [destinations],
  list: [filter, perhaps('the limit', LIMIT), perhaps('after', text('the id of the last letter'))],
  count: [someFilter],
  find: [filter, named({ limit: LIMIT, after: text('the id of the last letter') })],
  show: [id],
  lives: [kept],
  behind: [kept],
  replay: [someFilter, named({ ...ACTING, although: texts(OVERRIDES[0]), byRule: FLAG })],
  groups: [named({ service: text('mail-svc'), all: FLAG })],
  group: [fingerprint],
  tend: [fingerprint, all(one('what is said', object("{ owner: 'ann' }")), named(TENDING)), acting],
  repair: [selection, change, named({ ...WORKING, dryRun: FLAG })],
  undo: [id, one('the version', wholeNumber(0, 1)), acting],
  versions: [id],
  discard: [selection, working],
  resolve: [selection, working],
  restore: [selection, working],
  release: [selection, working],
  removePast: [named({ ...ACTING, most: LIMIT, signal: ANYTHING })],
  importLines: [one('the lines', FUNCTION), named({ ...ACTING, file: text('letters.jsonl') })],
}

const OPERATIONS: Table<OperationsDesk> = {
  plan: [someFilter, named(PLAN), acting],
  start: [operation, acting],
  approve: [operation, named({ ...ACTING, hash: text('the hash of the set') })],
  pause: [operation, acting],
  resume: [operation, acting],
  cancel: [operation, acting],
  show: [operation],
  list: [named({ limit: LIMIT, live: FLAG, before: text('the id of an operation') })],
  items: [operation, named({ states: wordList(ITEM_STATES), limit: LIMIT, after: wholeNumber(0, 50) })],
  work: [operation],
}

const HAND: Table<Hand> = {
  pause: [service, named(ORDERING)],
  resume: [service, named(ORDERING)],
  breaker: [
    one('the breaker', text('smtp')),
    one('the order', word(['open', 'closed', 'release'])),
    named(ORDERING),
  ],
}

const AUDITING: Table<Auditing> = {
  list: [
    named({ act: text('replay'), who: text('ann'), from: INSTANT, to: INSTANT }),
    perhaps('the limit', LIMIT),
    perhaps('before', wholeNumber(0, 100)),
  ],
  verify: [named({ head: text('the 64 digits that `reprieve audit verify` printed') })],
}

/** The same desk, whose functions look at what they are given before they do anything. All of these answer with a promise. */
const asked = <Desk extends object>(name: string, desk: Desk, table: Table<Desk>): Desk => {
  const looked = Object.entries(table as Readonly<Record<string, readonly Argument[]>>).map(
    ([verb, wanted]) => {
      const act = (desk as Record<string, (...given: readonly unknown[]) => unknown>)[verb]!
      const where = `${name}.${verb}()`
      const checked = async (...given: readonly unknown[]): Promise<unknown> => {
        for (const [i, look] of wanted.entries()) look(where, given[i])
        return act(...given)
      }
      return [verb, checked] as const
    },
  )
  return { ...desk, ...Object.fromEntries(looked) }
}

export const askedOffice = (office: Office): Office => ({
  ...asked('office', office, OFFICE),
  exportLines: async function* (...given) {
    for (const [i, look] of [filter, exporting].entries()) look('office.exportLines()', given[i])
    yield* office.exportLines(...given)
  },
  operations: asked('office.operations', office.operations, OPERATIONS),
})
export const askedHand = (hand: Hand): Hand => asked('hand', hand, HAND)
export const askedAuditing = (auditing: Auditing): Auditing => asked('audit', auditing, AUDITING)
