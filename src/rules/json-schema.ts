import { z } from 'zod'
import { MEANINGS } from './meanings.ts'
import { namesIn } from './names.ts'
import { bookSchema } from './schema.ts'
import { type Node, shared } from './shared.ts'

/** The schema of a rule book, for editors: what each key means, and the built-in names to choose from. */
export const jsonSchema = (): object => {
  const { $schema, ...book } = z.toJSONSchema(bookSchema(namesIn({})), { io: 'input' }) as Node
  const { whole, parts } = shared(annotated(book as Node, 'book'))
  return { $schema, title: 'Reprieve rule book', ...whole, $defs: { placeholder: PLACEHOLDER, ...parts } }
}

const PLACEHOLDER: Node = {
  description: `A value from the environment: \${NAME}, \${NAME:-default} or \${NAME:?message}.`,
  type: 'string',
  pattern: '\\$\\{',
}

/** Which part of the book a key leads to; the keys of a part are told in `MEANINGS`. */
const PARTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  book: {
    naming: 'naming',
    topics: 'topic',
    policies: 'policy',
    breakers: 'breaker',
    dependencies: 'dependency',
    defaults: 'rules',
    services: 'rules',
    recovery: 'recovery',
    foreign: 'foreign',
    retention: 'retention',
    redact: 'redaction',
    operations: 'operations',
    dapr: 'dapr',
    lint: 'lint',
  },
  rules: {
    policy: 'policy',
    breaker: 'breaker',
    idempotency: 'idempotency',
    deadLetter: 'deadLetter',
    overrides: 'override',
    poison: 'poison',
    alerts: 'alerts',
    batch: 'batch',
    batchers: 'batch',
    demand: 'demand',
    events: 'rules',
  },
  operations: { approval: 'operations', canary: 'canary' },
  policy: { tiers: 'policy' },
  dependency: { breaker: 'breaker', budget: 'budget' },
  override: { match: 'override' },
  alerts: Object.fromEntries(Object.keys(MEANINGS.alerts!).map((metric) => [metric, 'alert'])),
  dapr: { components: 'dapr', apps: 'target', inbound: 'target', outbound: 'target' },
  lint: { silence: 'silence' },
}

/** Keys that take the name of something, and of what. */
const REFERENCES: Readonly<Record<string, keyof ReturnType<typeof namesIn>>> = {
  'rules.policy': 'policies',
  'policy.extends': 'policies',
  'target.policy': 'policies',
  'rules.breaker': 'breakers',
  'breaker.extends': 'breakers',
  'dependency.breaker': 'breakers',
  'target.breaker': 'breakers',
  'rules.timeout': 'timeouts',
  'dependency.timeout': 'timeouts',
  'target.timeout': 'timeouts',
  'rules.dependencies': 'dependencies',
  'dependency.extends': 'dependencies',
  'idempotency.store': 'stores',
}

const annotated = (node: Node, part: string, at = ''): Node => {
  const inner = (child: unknown): Node => annotated(child as Node, part, at)
  if (Array.isArray(node.anyOf)) return { ...node, anyOf: node.anyOf.map(inner) }
  if (node.type === 'array') return { ...node, items: inner(node.items) }
  if (node.type === 'object') return annotatedObject(node, part, inner)
  const names = REFERENCES[at]
  if (names && isPlainText(node)) return { anyOf: [{ enum: [...namesIn({})[names]] }, node] }
  if (node.type === 'string' && node.enum === undefined && node.pattern === undefined) return node
  return 'const' in node ? node : { anyOf: [node, { $ref: '#/$defs/placeholder' }] }
}

const isPlainText = ({ type, ...rest }: Node): boolean => type === 'string' && Object.keys(rest).length === 0

/** An empty row or section is written as nothing at all. */
const annotatedObject = (node: Node, part: string, inner: (child: unknown) => Node): Node => {
  const { properties, additionalProperties, propertyNames } = node
  const children = Object.entries((properties ?? {}) as Record<string, Node>).map(([key, child]) => {
    const description = MEANINGS[part]?.[key]
    const next = annotated(child, PARTS[part]?.[key] ?? '', `${part}.${key}`)
    return [key, description === undefined ? next : { description, ...next }] as const
  })
  return {
    ...node,
    type: ['object', 'null'],
    ...(properties !== undefined && { properties: Object.fromEntries(children) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: inner(additionalProperties) }),
    ...(propertyNames !== undefined && { propertyNames }),
  }
}
