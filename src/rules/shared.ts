/** A piece of a JSON Schema. */
export type Node = { [key: string]: unknown }

const WORTH_SHARING = 160

/** The same schema with what stands in it more than once set apart, so that people can read it. */
export const shared = (whole: Node): { readonly whole: Node; readonly parts: Node } => {
  const counts = new Map<string, number>()
  const names = new Map<string, string>()
  const parts: Node = {}
  visit(whole, counts)

  const replace = (node: unknown, key: string): unknown => {
    if (Array.isArray(node)) return node.map((each) => replace(each, key))
    if (!isNode(node)) return node
    const { description, ...rest } = node
    const text = JSON.stringify(rest)
    const slim = () =>
      Object.fromEntries(
        Object.entries(rest).map(([name, each]) => [name, replace(each, nameFor(name, key))]),
      )
    if (!isShared(rest, text, counts)) return description === undefined ? slim() : { description, ...slim() }
    let name = names.get(text)
    if (name === undefined) {
      name = free(key, parts)
      names.set(text, name)
      parts[name] = {}
      parts[name] = slim()
    }
    const $ref = `#/$defs/${name}`
    return description === undefined ? { $ref } : { description, $ref }
  }
  return { whole: replace(whole, '') as Node, parts }
}

const isNode = (value: unknown): value is Node =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

const isSchema = (node: Node): boolean => 'type' in node || 'anyOf' in node

const isShared = (node: Node, text: string, counts: ReadonlyMap<string, number>): boolean =>
  isSchema(node) && text.length > WORTH_SHARING && (counts.get(text) ?? 0) > 1

/** What stands only in something that is shared is there once, and not counted again. */
const visit = (node: unknown, counts: Map<string, number>): void => {
  if (Array.isArray(node)) for (const each of node) visit(each, counts)
  if (!isNode(node)) return
  const { description: _, ...rest } = node
  if (isSchema(rest)) {
    const text = JSON.stringify(rest)
    const count = counts.get(text) ?? 0
    counts.set(text, count + 1)
    if (count > 0 && text.length > WORTH_SHARING) return
  }
  for (const each of Object.values(rest)) visit(each, counts)
}

/** Words of JSON Schema itself say nothing about what they hold. */
const SCHEMA_WORDS = new Set(['properties', 'additionalProperties', 'items', 'anyOf', 'propertyNames'])

const nameFor = (name: string, above: string): string => (SCHEMA_WORDS.has(name) ? above : name)

const free = (name: string, taken: Node): string => {
  if (!(name in taken) && name !== 'placeholder') return name
  for (let number = 2; ; number++) if (!(`${name}${number}` in taken)) return `${name}${number}`
}
