import { createHash } from 'node:crypto'
import type { Act, Details } from './audit.ts'
import { ReprieveError } from './error.ts'
import type { Json } from './json.ts'

/** How acts are written so that whoever reads them is not misled: bounded, and with nothing unseen in them. */

/** What can be done by hand. */
export const ACTS = [
  'replay',
  'replay undone',
  'replay again',
  'purge',
  'operation plan',
  'operation start',
  'operation approve',
  'operation pause',
  'operation resume',
  'operation cancel',
  'operation stop',
  'discard',
  'resolve',
  'restore',
  'release',
  'repair',
  'import',
  'export',
  'retention',
  'tend',
  'pause',
  'resume',
  'breaker open',
  'breaker close',
  'breaker release',
] as const

export type ActName = (typeof ACTS)[number]

const MOST_TEXT = 1000
const MOST_IDS = 20

/** Controls, invisible characters, marks that turn the reading direction, halves of characters. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu

/** For what others wrote, such as a reason: it is kept, and what can't be seen in it is shown to be there. */
export const plainText = (text: string): string => {
  const seen = text.replace(/\s+/g, ' ').trim().replace(UNSEEN, '\u{fffd}')
  return seen.length <= MOST_TEXT ? seen : `${seen.slice(0, MOST_TEXT).toWellFormed()}…`
}

const NAME = /^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N} ._@+:\\/-]{0,98}[\p{L}\p{M}\p{N}._+-])?$/u

/** A name somebody gave himself. */
export const checkName = (name: string): string => {
  if (NAME.test(name)) return name
  throw new ReprieveError('bad_usage', `'${plainText(name)}' can't be the name of who acts`, {
    fix: 'use up to 100 letters, digits, spaces and . _ @ + : / - like ann.lee@example.org',
  })
}

/** A name the system gave: it may be odd, and nobody can mend it here. */
export const plainName = (name: string): string => {
  const plain = plainText(name)
  return plain === '' ? 'somebody' : plain.slice(0, 100).toWellFormed()
}

/** The act as it is kept. */
export const plainAct = ({ at, who, act, target, count, reason, details }: Act): Act => {
  const why = reason === undefined ? '' : plainText(reason)
  return {
    at: Math.round(at),
    who: plainName(who),
    act,
    target: plainText(target),
    count,
    ...(why !== '' && { reason: why }),
    details: plainJson(details) as Details,
  }
}

const plainJson = (value: Json): Json => {
  if (typeof value === 'string') return plainText(value)
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(plainJson)
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) =>
      each === undefined ? [] : [[plainText(name), plainJson(each)]],
    ),
  )
}

/** An act on letters before it is known on which it takes effect. */
export type ActOnLetters = Omit<Act, 'target' | 'count'>

/** The first few by id, all of them by the hash of their ids in order. */
export const actOn = (act: ActOnLetters, ids: readonly string[]): Act => {
  const more = ids.length - MOST_IDS
  const which: Details = {
    ids: ids.slice(0, MOST_IDS),
    ...(more > 0 && { more }),
    hash: hashOfIds(ids),
  }
  const target = ids.length === 1 ? `letter ${ids[0]}` : 'letters'
  return { ...act, target, count: ids.length, details: { ...act.details, ...which } }
}

export const hashOfIds = (ids: readonly string[]): string =>
  createHash('sha256')
    .update([...ids].sort().join('\n'))
    .digest('hex')
