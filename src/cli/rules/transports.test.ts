import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { TRANSPORTS, transportFacts } from './transports.ts'

/** Each adapter's README is made from a run of the trials: it tells what `can` says. */
const truth = (adapter: string, key: string): string => {
  const readme = readFileSync(new URL(`../../adapters/${adapter}/README.md`, import.meta.url), 'utf8')
  return new RegExp(`^- \`${key}\`: \\*\\*(.+?)\\*\\*`, 'm').exec(readme)![1]!
}

describe('what the linter is told of transports', () => {
  it.for(Object.values(TRANSPORTS))(
    '$name can what its truth table says',
    ({ name, later, order, patterns }) => {
      expect(order).toBe(truth(name, 'order'))
      expect(patterns ? 'yes' : 'no').toBe(truth(name, 'patterns'))
      const longest = truth(name, 'later')
      expect(longest).toMatch(later === Number.POSITIVE_INFINITY ? /any|as long/ : /^up to 1 h$/)
      if (later !== Number.POSITIVE_INFINITY) expect(later).toBe(3_600_000)
    },
  )

  it('by a URL or by its scheme; another is refused, its password unseen', () => {
    expect(transportFacts('kafka')).toBe(TRANSPORTS.kafka)
    expect(transportFacts('AMQPS://me:secret@host/x')).toMatchObject({ name: 'rabbitmq' })
    expect(transportFacts('sqlite:app.db')).toMatchObject({ later: Number.POSITIVE_INFINITY })
    expect(() => transportFacts('mqtt://me:secret@host')).toThrow(/no adapter opens 'mqtt:\/\/\*\*\*@host'/)
    expect(() => transportFacts('constructor')).toThrow(/no adapter/)
  })
})
