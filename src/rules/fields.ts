import { z } from 'zod'
import { patternFault } from '../core/pattern.ts'
import type { Jitter } from '../core/policy.ts'
import type { Millis } from '../core/time.ts'
import { readPath } from '../core/where.ts'
import { A_DURATION, readDuration } from './duration.ts'
import { A_NAME, NAME, templateFault } from './naming.ts'
import { oneOf } from './problem.ts'

/**
 * The small parts of the schema. Throughout, the message of an issue is the phrase that comes after 'expected';
 * for unknown keys it is the list of the known ones.
 */

const NUMBER = /^-?\d+(\.\d+)?$/
const NUMBERED = (value: unknown) => (typeof value === 'string' && NUMBER.test(value) ? Number(value) : value)

/** Numbers may come as text, since what a placeholder holds is text. */
export const number = (min: number, max: number) => {
  const error = `a number from ${min} to ${max}`
  return z.preprocess(NUMBERED, z.number({ error }).min(min, { error }).max(max, { error }))
}

export const whole = (min: number, max = 1_000_000) => {
  const error = `a whole number from ${min} to ${max}`
  return z.preprocess(NUMBERED, z.int({ error }).min(min, { error }).max(max, { error }))
}

const SAID = (value: unknown) => (value === 'true' ? true : value === 'false' ? false : value)

export const yesOrNo = z.preprocess(SAID, z.boolean({ error: 'true or false' }))

/** Text that some reading turns into a value; whatever it can't read is answered with what was expected. */
const reading = <T>(expected: string, read: (text: string) => T | undefined) =>
  z.string({ error: expected }).transform((text, context): T => {
    const value = read(text)
    if (value !== undefined) return value
    context.issues.push({ code: 'custom', message: expected, input: text })
    return z.NEVER
  })

export const duration = reading(A_DURATION, readDuration).meta({
  pattern: '^\\d{1,12}(\\.\\d{1,6})?(ms|s|m|h|d)$',
})

const PERCENT = '^±?\\d{1,3}(\\.\\d{1,3})?%$'

const readPercent = (text: string): number | undefined => {
  const [, digits] = /^±?(\d{1,3}(?:\.\d{1,3})?)%$/.exec(text) ?? []
  const ratio = Number(digits) / 100
  return ratio <= 1 ? ratio : undefined
}

export const percent = reading('a share such as 10%', readPercent).meta({ pattern: PERCENT })

/** How far back to look: so many calls, or so long. */
export const callsOrTime = z
  .union([z.string(), z.number()], { error: 'a number of calls such as 100, or a duration such as 30s' })
  .transform((written, context): { readonly calls: number } | { readonly time: Millis } => {
    const calls = NUMBERED(written)
    if (Number.isInteger(calls) && (calls as number) >= 1 && (calls as number) <= 1_000_000)
      return { calls: calls as number }
    const time = typeof written === 'string' ? readDuration(written) : undefined
    if (time !== undefined) return { time }
    const message = 'a number of calls such as 100, or a duration such as 30s'
    context.issues.push({ code: 'custom', message, input: written })
    return z.NEVER
  })

const JITTERS = ['none', 'full', 'half', 'wide'] as const

export const jitter = reading('one of none, full, half, wide, or a spread such as 20%', (text) => {
  const kind = JITTERS.find((each) => each === text)
  if (kind) return { kind } satisfies Jitter as Jitter
  const ratio = readPercent(text)
  return ratio === undefined ? undefined : ({ kind: 'spread', ratio } satisfies Jitter as Jitter)
}).meta({ pattern: `^(none|full|half|wide)$|${PERCENT}`, examples: [...JITTERS, '20%'] })

export const text = z
  .string({ error: 'text' })
  .min(1, { error: 'text that is not empty' })
  .max(1000, { error: 'text of at most 1000 characters' })

export const name = z.string({ error: A_NAME }).regex(NAME, { error: A_NAME })

export const pattern = z.string({ error: 'an event name' }).refine((each) => !patternFault(each), {
  error: ({ input }) =>
    `an event name, or a beginning with a star at its end: this ${patternFault(`${input}`)}`,
})

export const template = (allowed: readonly string[]) => {
  const holding = allowed.map((each) => `{${each}}`).join(', ') || 'no placeholder'
  return z.string({ error: 'a template' }).refine((each) => !templateFault(each, allowed), {
    error: ({ input }) =>
      `a name or template, with ${holding}, of letters, digits, dots and dashes; not ${templateFault(`${input}`, allowed)}`,
  })
}

/** The name of something that is defined in the book or built in. */
export const reference = (what: string, names: ReadonlySet<string>) =>
  z.string({ error: `the name of a ${what}` }).refine((each) => names.has(each), {
    error: ({ input }) => `the name of a ${what}, ${oneOf(names, input)}`,
  })

export const choice = <const T extends readonly [string, ...string[]]>(...values: T) =>
  z.enum(values, { error: ({ input }) => oneOf(values, input) })

/** A duration, or the name of one. */
export const timeout = (names: ReadonlySet<string>) =>
  reading<Millis | string>(
    `${A_DURATION}, or the name of a timeout, one of ${[...names].join(', ')}`,
    (text) => (names.has(text) ? text : readDuration(text)),
  )

/** An empty value stands for an empty mapping, so that a row may be named and left as it is. */
const orEmpty = (value: unknown) => (value === null ? {} : value)

export const mapping = <T extends z.core.$ZodLooseShape>(shape: T) =>
  z.preprocess(
    orEmpty,
    z.strictObject(shape, {
      error: ({ code }) => (code === 'unrecognized_keys' ? Object.keys(shape).join(' ') : 'a mapping'),
    }),
  )

export const named = <K extends z.ZodType<string, string>, V extends z.ZodType>(key: K, value: V) =>
  z.preprocess(orEmpty, z.record(key, value, { error: 'a mapping of names' }))

export const list = <T extends z.ZodType>(item: T, most = 1000) => {
  const error = `a list of at most ${most}`
  return z.array(item, { error }).max(most, { error })
}

/** As conditions on payloads have them. */
export const jsonPath = reading('a path such as $.card.number or $.lines[*].iban', (path) =>
  'why' in readPath(path) ? undefined : path,
).meta({ pattern: '^\\$' })

/** A star at the end stands for any ending. */
export const headerName = reading('the name of a header, or its beginning with a star', (header) =>
  /^[\x21-\x29\x2b-\x7e]{0,200}\*?$/.test(header) && header !== '' ? header : undefined,
).meta({ pattern: '^[!-)+-~]{0,200}\\*?$' })
