import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { jsonSchema } from './json-schema.ts'

const root = join(import.meta.dirname, '../..')
const schema = jsonSchema() as Record<string, unknown>
const holds = z.fromJSONSchema(schema as never)
const fits = (text: string): boolean => holds.safeParse(parse(text.replaceAll('§', '$'))).success

describe('the JSON Schema of a rule book', () => {
  it('is the one that is checked in: node src/cli/main.ts rules schema > schema/reprieve.schema.json', () => {
    const kept = JSON.parse(readFileSync(join(root, 'schema/reprieve.schema.json'), 'utf8'))
    expect(kept).toEqual(JSON.parse(JSON.stringify(schema)))
  })

  it('says of every key what it means', () => {
    const silent: string[] = []
    const look = (node: unknown, path: string): void => {
      if (node === null || typeof node !== 'object') return
      for (const [key, child] of Object.entries(node)) {
        if (path.endsWith('.properties') && !(child as { description?: string }).description)
          silent.push(`${path}.${key}`)
        look(child, `${path}.${key}`)
      }
    }
    look(schema, '')
    expect(silent).toEqual([])
  })

  it('offers the built-in names, and lets others be', () => {
    const { policy } = schema.$defs as Record<string, { anyOf: { anyOf: unknown[] }[] }>
    expect(policy!.anyOf[0]!.anyOf).toEqual([
      { enum: ['aggressive', 'standard', 'patient', 'critical', 'none'] },
      { type: 'string' },
    ])
  })

  const examples = join(root, 'examples')
  const shipped = readdirSync(examples, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.yaml'),
  )

  it.each(shipped)('fits %s', (path) => {
    expect(holds.safeParse(parse(readFileSync(join(examples, path), 'utf8'))).error).toBeUndefined()
  })

  it.each([
    'version: 1',
    'version: 1\ndefaults: { concurrency: "§{WORKERS:-3}", timeout: "§{T}", order: "§{ORDER:-key}" }',
    'version: 1\nextends: [a.yaml, b.yaml]\nservices: { s: { events: { a.b: } } }',
    'version: 1\ndefaults: { batch: off, poison: off, breaker: none, policy: own }',
    'version: 1\nbreakers: { b: { rate: 50%, window: 100, volume: 5, spread: 10%, ramp: 30s } }',
  ])('lets stand: %s', (text) => expect(fits(text)).toBe(true))

  it.each([
    'defaults: {}',
    'version: 2',
    'version: 1\ndefualts: {}',
    'version: 1\ndefaults: { timeout: 5 }',
    'version: 1\ndefaults: { timeout: [5s] }',
    'version: 1\ndefaults: { concurrency: 0 }',
    'version: 1\ndefaults: { order: sideways }',
    'version: 1\nservices: { s: { events: { a.b: { polcy: none } } } }',
    'version: 1\ndefaults: { overrides: [{ match: { status: 404 }, category: transient }] }',
    'version: 1\npolicies: { p: { jitter: much } }',
  ])('does not let stand: %s', (text) => expect(fits(text)).toBe(false))
})
