import type { Tools } from '../../contracts/tools.ts'
import { fromJson } from '../../core/cloudevents.ts'
import { ReprieveError } from '../../core/error.ts'
import { checkEvent, type Event } from '../../core/event.ts'
import type { PublishOptions } from '../../runtime/handler.ts'
import { makeEvent } from '../../runtime/publish.ts'
import { LONGEST } from './lines.ts'

/** What a line that is no whole CloudEvent may say beside type and data. */
const FIELDS: ReadonlySet<string> = new Set([
  'id',
  'source',
  'subject',
  'time',
  'correlationId',
  'orderKey',
  'priority',
  'expires',
  'datacontenttype',
  'dataschema',
] satisfies (keyof PublishOptions)[])

export interface Wrong {
  readonly wrong: string
  readonly fix?: string | undefined
}

/** An event, or what is wrong with the line. A line with `specversion` is a CloudEvent in JSON format. */
export const readLine = (bytes: Uint8Array, tools: Tools): Event | Wrong => {
  if (bytes.byteLength > LONGEST) return { wrong: `it is longer than ${LONGEST} bytes` }
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes))
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      return { wrong: 'it is no JSON object' }
    if (!('specversion' in value)) return fromShort(value as Record<string, unknown>, tools)
    const read = fromJson(value)
    if (read.broken !== undefined) return { wrong: read.broken }
    checkEvent(read.event)
    return read.event
  } catch (error) {
    if (error instanceof ReprieveError) return { wrong: error.message.split('\n')[0]!, fix: error.fix }
    const { message } = error as Error
    return { wrong: error instanceof SyntaxError ? `it is not JSON: ${message}` : message }
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

const fromShort = (line: Record<string, unknown>, tools: Tools): Event | Wrong => {
  const { type, data, headers = {}, ...rest } = line
  if (typeof type !== 'string') return { wrong: "it has no 'type'" }
  for (const [name, value] of Object.entries(rest)) {
    if (!FIELDS.has(name)) return { wrong: `'${name}' is not known` }
    if (typeof value !== 'string') return { wrong: `'${name}' is no text` }
  }
  if (!isTexts(headers)) return { wrong: "'headers' is no object of texts" }
  return makeEvent(type, data, { ...(rest as PublishOptions), headers }, tools)
}

const isTexts = (value: unknown): value is Record<string, string> =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((each) => typeof each === 'string')
