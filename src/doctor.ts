import { systemClock } from './adapters/system/clock.ts'
import { systemDice } from './adapters/system/dice.ts'
import type { Finding, Needs } from './contracts/doctor.ts'
import type { Tools } from './contracts/tools.ts'
import { ReprieveError } from './core/error.ts'
import { needsOf } from './needs.ts'
import { doctorFor, withoutSecret } from './open.ts'
import { type RuleBook, storesFor } from './rules/index.ts'
import type { TransportFacts } from './rules/lint/index.ts'

/** What the house itself looks at, whatever the adapters. */
export const HOUSE_CHECKS = ['answers', 'examined', 'own-store', 'service-without-rows', 'rules'] as const

/** A transport or store, and what was found there. */
export interface Examined {
  readonly as: string
  /** Without credentials. */
  readonly url: string
  readonly findings: readonly Finding[]
}

export interface Patient {
  readonly book: RuleBook
  readonly facts: TransportFacts
  readonly transport: string
  readonly store?: string
  readonly board?: string
}

const DEFAULT_STORE = 'sqlite:reprieve.db'

/** Looks at every place that an app with this book, transport and store would open; each one once. */
export const examine = async (patient: Patient): Promise<readonly Examined[]> => {
  const { book, facts, transport } = patient
  const tools: Tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
  const { needs, findings } = needsOf(book, facts)
  const places = [...storesOf(patient)]
  const letters = places.some(([as, url]) => as === 'store' && url === transport)
  const first = await examineOne('transport', transport, { ...needs, letters }, tools)
  const examined: Examined[] = [{ ...first, findings: [...findings, ...first.findings] }]
  for (const [as, url] of places) {
    const asked = { subscriptions: [], letters: as === 'store' }
    if (url !== transport) examined.push(await examineOne(as, url, asked, tools))
  }
  return examined
}

/** By what each is for; one that several names lead to is named by the first. */
const storesOf = ({ book, transport, store, board }: Patient): Iterable<readonly [string, string]> => {
  const own = store ?? (keepsLetters(transport) ? transport : DEFAULT_STORE)
  const named = [...book.services.keys()].flatMap((service) => storesFor(book, service))
  const all: (readonly [string, string])[] = [['store', own]]
  if (board !== undefined) all.push(['board', board])
  for (const name of new Set(named)) all.push([`store ${name}`, book.stores.get(name) ?? own])
  return all.filter(([, url], index) => all.findIndex(([, other]) => other === url) === index)
}

const keepsLetters = (url: string): boolean => /^(sqlite|memory|postgres(ql)?):/i.test(url)

const examineOne = async (as: string, url: string, needs: Needs, tools: Tools): Promise<Examined> => {
  const shown = withoutSecret(url)
  const doctor = await doctorFor(url)
  const findings: Finding[] = []
  if (as !== 'transport' && /^(amqps?|kafka):/i.test(url)) {
    throw new ReprieveError('bad_url', `'${shown}' can't serve as a ${as.split(' ')[0]}`, {
      fix: 'use sqlite:app.db, postgres://host/db or redis://host',
    })
  }
  if (as === 'store' && !keepsLetters(url)) {
    findings.push({
      check: 'own-store',
      level: 'wrong',
      where: 'store',
      what: 'it keeps a ledger and a board, no dead letters',
      why: 'an app refuses to start with it as its own store',
      fix: 'use sqlite:app.db or postgres://host/db as the store, and name this one in the rule book: stores: { … }, idempotency: { store: … }',
    })
  }
  if (!doctor) {
    findings.push({
      check: 'examined',
      level: 'fine',
      where: as,
      what: 'its adapter has no checks of its own',
    })
    return { as, url: shown, findings }
  }
  try {
    findings.push(...(await doctor.examine(url, needs, tools)))
    findings.unshift({ check: 'answers', level: 'fine', where: as, what: 'it answers' })
  } catch (error) {
    findings.push(notExamined(as, error))
  }
  const secrets = [...secretsIn(url), ...secretsAround(process.env)]
  return { as, url: shown, findings: findings.map((finding) => scrubbed(finding, secrets, as)) }
}

/** A URL that can't be read is a mistake of the caller; all else is what was asked about. */
const notExamined = (as: string, error: unknown): Finding => {
  if (!(error instanceof ReprieveError)) {
    const what = `it could not be examined: ${error instanceof Error ? error.message : String(error)}`
    return { check: 'examined', level: 'wrong', where: as, what }
  }
  const { code, message, fix } = error
  if (code === 'bad_url' || code === 'client_missing') throw error
  const what = message.replace(/\n {2}fix: .*$/s, '')
  return { check: 'answers', level: 'wrong', where: as, what, ...(fix && { fix }) }
}

/** Servers repeat what they were told, some more than they should. */
const secretsIn = (url: string): readonly string[] => {
  const [, password] = /^[a-z+]+:\/\/[^:/?#]*:(.*)@/is.exec(url) ?? []
  if (!password) return []
  try {
    return [password, decodeURIComponent(password)]
  } catch {
    return [password] // a bare % in it: as it stands
  }
}

const PASSWORD = /^REPRIEVE_\w+_PASSWORD$/

/** What adapters take from the environment: passwords, and a URL that may hold one. */
const secretsAround = (env: Readonly<Record<string, string | undefined>>): readonly string[] =>
  Object.entries(env).flatMap(([name, value = '']) => {
    if (PASSWORD.test(name)) return [value, encodeURIComponent(value)]
    return name.startsWith('REPRIEVE_') ? secretsIn(value) : []
  })

/** Adapters show none; this is for what a server repeats. A short one, such as guest, would make holes in every text; our own word for a place is none. */
const scrubbed = (finding: Finding, secrets: readonly string[], as: string): Finding => {
  const long = secrets.filter((secret) => secret.length >= 8)
  if (long.length === 0) return finding
  const clean = (text: string) => long.reduce((rest, secret) => rest.replaceAll(secret, '***'), text)
  const { why, fix } = finding
  return {
    ...finding,
    where: finding.where === as ? as : clean(finding.where),
    what: clean(finding.what),
    ...(why && { why: clean(why) }),
    ...(fix && { fix: clean(fix) }),
  }
}
