import { KINDS, type Kind } from '../core/failure.ts'

/**
 * Templates for names: `{service}` and the like are filled in; a part in square brackets is left out when what it
 * needs is not there. So `_{service}.deadletter[.{channel}]` is both `_mail-svc.deadletter` and
 * `_mail-svc.deadletter.sms`.
 */
export interface Naming {
  readonly deadLetter: string
  readonly quarantine: string
  readonly consumerGroup: string
  /** Where offices wait for the outcome of replays; each adds a name of its own. */
  readonly receipts: string
}

/**
 * Which placeholders each template may hold. `{queue}` is `{service}.{topic}`, as RabbitMQ's queues are called;
 * `{kind}` is what sort of failure sent a message aside.
 */
export const PLACEHOLDERS = {
  deadLetter: ['service', 'topic', 'queue', 'channel'],
  quarantine: ['deadLetter', 'service', 'topic', 'queue', 'channel', 'kind'],
  consumerGroup: ['service'],
  receipts: [],
} as const satisfies Record<keyof Naming, readonly string[]>

/** What every broker takes as a name. */
export const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$/
export const A_NAME = 'a name of letters, digits, dots, dashes and underscores, at most 200'

const PART = /\[([^[\]]*)\]|\{([^{}]*)\}/g

/** Why the template can't be used, or undefined where it can. */
export const templateFault = (template: string, allowed: readonly string[]): string | undefined => {
  let unknown: string | undefined
  const look = (text: string): string =>
    text.replace(PART, (_, optional?: string, name?: string) => {
      if (optional !== undefined) return look(optional)
      if (!allowed.includes(name!)) unknown ??= name
      return 'x'
    })
  const example = look(template)
  if (unknown !== undefined) return `the placeholder {${unknown}}`
  return NAME.test(example) ? undefined : `a template that makes names like '${example}'`
}

type Part =
  | { readonly text: string }
  | { readonly name: string }
  /** Left out when something in it is missing. */
  | { readonly optional: readonly Part[] }

/** Read once: the same few templates name the destinations of thousands of pairs. */
const read = new Map<string, readonly Part[]>()
const MOST_READ = 1000

const partsOf = (template: string): readonly Part[] => {
  let parts = read.get(template)
  if (!parts) {
    parts = readParts(template)
    if (read.size >= MOST_READ) read.clear()
    read.set(template, parts)
  }
  return parts
}

const readParts = (template: string): readonly Part[] => {
  const parts: Part[] = []
  let end = 0
  for (const { 0: whole, 1: optional, 2: name, index } of template.matchAll(PART)) {
    if (index > end) parts.push({ text: template.slice(end, index) })
    parts.push(optional === undefined ? { name: name! } : { optional: readParts(optional) })
    end = index + whole.length
  }
  if (end < template.length) parts.push({ text: template.slice(end) })
  return parts
}

type Values = Readonly<Record<string, string | undefined>>

export const fillName = (template: string, values: Values): string => fill(partsOf(template), values)

const fill = (parts: readonly Part[], values: Values): string => {
  let name = ''
  for (const part of parts) {
    if ('text' in part) name += part.text
    else if ('name' in part) name += values[part.name] ?? ''
    else if (!part.optional.some((each) => 'name' in each && values[each.name] === undefined)) {
      name += fill(part.optional, values)
    }
  }
  return name
}

/** What `{topic}` becomes: a star has no place in a broker's names. */
export const topicWord = (topic: string): string => topic.replace('*', 'any')

/** Stands in a resolved name until the kind is known. No name could hold it otherwise. */
export const KIND = '{kind}'

/** Where a message that failed in this way is set aside. */
export const quarantineFor = (quarantine: string, kind: Kind): string => quarantine.replace(KIND, kind)

/** Every quarantine that the name may stand for, so that all are there before anything fails. */
export const quarantinesOf = (quarantine: string): readonly string[] =>
  quarantine.includes(KIND) ? KINDS.map((kind) => quarantineFor(quarantine, kind)) : [quarantine]
