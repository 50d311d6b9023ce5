/**
 * Templates for names: `{service}` and the like are filled in; a part in square brackets is left out when what it
 * needs is not there. So `_{service}.deadletter[.{channel}]` is both `_mail-svc.deadletter` and
 * `_mail-svc.deadletter.sms`.
 */
export interface Naming {
  readonly deadLetter: string
  readonly quarantine: string
  readonly consumerGroup: string
  /** Where the office waits for the outcome of replays: one for the whole house. */
  readonly receipts: string
}

/** Which placeholders each template may hold. `{queue}` is `{service}.{topic}`, as RabbitMQ's queues are called. */
export const PLACEHOLDERS = {
  deadLetter: ['service', 'topic', 'queue', 'channel'],
  quarantine: ['deadLetter', 'service', 'topic', 'queue', 'channel'],
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

export const fillName = (template: string, values: Readonly<Record<string, string | undefined>>): string =>
  template.replace(PART, (_, optional?: string, name?: string) => {
    if (optional === undefined) return values[name!] ?? ''
    const missing = [...optional.matchAll(PART)].some(([, , inner]) => values[inner!] === undefined)
    return missing ? '' : fillName(optional, values)
  })

/** What `{topic}` becomes: a star has no place in a broker's names. */
export const topicWord = (topic: string): string => topic.replace('*', 'any')
