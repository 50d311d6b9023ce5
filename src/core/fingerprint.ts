import { createHash } from 'node:crypto'
import type { Failure } from './failure.ts'

/**
 * Which reading of a failure a fingerprint is made by; it is its beginning. Fingerprints are stored: whatever changes one
 * of them needs another version, so that old groups and new ones are not mixed up.
 */
export const FINGERPRINT_VERSION = 'f1'

/**
 * What makes two failures the same: where they happened, what was thrown, and its message without all that changes from
 * event to event. Category and kind are left out: an override added to the rules must not tear a group in two.
 */
export const fingerprint = (
  failure: Failure,
  where: { readonly service: string; readonly topic: string; readonly type: string },
): string => {
  const { name, code = null, status = null, message } = failure
  const parts = [
    where.service,
    where.topic,
    where.type,
    name,
    code,
    status,
    normalise(message),
    siteOf(failure),
  ]
  return `${FINGERPRINT_VERSION}-${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)}`
}

const MAX_RAW = 2000
const MAX_NORMAL = 500

const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?'
const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*'
const HTTP_DATE = `${DAY} (?:\\d{1,2}[ -])?${MONTH}[ -](?:\\d{1,2} )?\\d{2,4} \\d\\d:\\d\\d(?::\\d\\d)?`
const ZONE = '(?: (?:GMT|UTC)(?:[+-]\\d{4})?(?: \\([A-Za-z ]+\\))?)?'

// In order; each sees what those before it have left. Each starts at a boundary, and runs of characters are followed
// by others than they hold: no message makes them slow.
const CHANGING: readonly (readonly [RegExp, string])[] = [
  // 'a value', also with a quote inside a word: 'O'Brien'
  [/(?<!\w)(['"`])(?:(?!\1)[\s\S]|\1(?=\w))*\1(?!\w)/g, '<value>'],
  [/\bfile:\/\/(?=\/)/g, ''],
  // of a URL its path stays
  [/\b[a-z][a-z0-9+.-]*:\/\/[^\s/?#<>(),;]*([^\s?#<>(),;]*)(?:[?#][^\s<>(),;]*)?/gi, '<url>$1'],
  [/(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*/g, '<email>'],
  [new RegExp(`\\b${HTTP_DATE}${ZONE}`, 'g'), '<id>'],
  [/\b(ENOTFOUND|EAI_AGAIN) [\w.-]+/g, '$1 <address>'],
  // of a file's path its last name stays
  [/(?<![\w.>])(?:[a-z]:|\.{1,2})?(?:[\\/][\w.@~+-]+)*[\\/]([\w.@~+-]+\.[a-z]{1,5})\b(?::\d+)*/gi, '$1'],
  // IPv6, IPv4, host and port
  [
    /\[?(?<![\w:.])(?=[0-9a-f]*:[0-9a-f:]*:)(?=[0-9a-f:]*::|(?:[0-9a-f]+:){7})[0-9a-f:]+(?:%\w+)?\]?(?::\d+\b)?/gi,
    '<address>',
  ],
  [/(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?!\w|\.\d)/g, '<address>'],
  [/(?<![\w.-])(?:localhost|[a-z][\w-]*(?:\.[\w-]+)+):\d{2,5}\b(?!:)/gi, '<address>'],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, '<id>'],
  // any word with a digit in it, and chains of them: 12, 0x1F, order-7, 1.5e+3, 2026-01-31T10:00:00.000Z
  [/(?<![\w-])[\w-]*\d[\w-]*(?:[.,:+][\w-]*\d[\w-]*)*/g, '<id>'],
  // a hexadecimal number that happens to have no digit
  [/(?<![\w-])[a-f]{8,}(?![\w-])/gi, '<id>'],
  // lists, however long
  [/(<\w+>)(?:,? \1)+/g, '$1'],
  [/\s+/g, ' '],
]

/** The message with ids, numbers, addresses, times, quoted values and paths taken out. */
export const normalise = (message: string): string =>
  CHANGING.reduce((text, [pattern, word]) => text.replace(pattern, word), message.slice(0, MAX_RAW))
    .trim()
    .slice(0, MAX_NORMAL)

/** Frames of the language itself, and of what was installed. */
const NOT_OURS = /^(?:node:|<anonymous>|native|index \d)|node_modules/
const FRAME = /^ {4}at (?:async )?(?:new )?(?:([^\s(]+) (?:\[as [^\]]+\] )?\()?(.+?)\)?$/

/**
 * The innermost function of the user's own code. It tells two defects of one handler apart where the message can't (`Cannot
 * read properties of undefined`). Failures of dependencies go without it: they are the same wherever they surface.
 */
const siteOf = ({ kind, stack }: Failure): string => {
  if (kind !== 'handler' || !stack) return ''
  for (const line of stack.split('\n')) {
    const [, name = '', file] = FRAME.exec(line) ?? []
    if (file === undefined || NOT_OURS.test(file)) continue
    return name.slice(name.lastIndexOf('.') + 1)
  }
  return ''
}
