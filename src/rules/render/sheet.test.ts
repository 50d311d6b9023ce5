import { describe, expect, it } from 'vitest'
import { readRules } from '../load.ts'
import { renderMatrix } from './matrix.ts'
import { roughly } from './phrases.ts'
import { renderRunbook } from './runbook.ts'
import { renderSheet } from './sheet.ts'

const book = readRules(
  `version: 1
stores: { index: 'redis://user:secret@host' }
services:
  mail-svc:
    consumerGroup: mailers
    criticality: critical
    dataLoss: acceptable
    breaker: kafkaBreaker
    idempotency: { pattern: upsert, store: index, ttl: 14d, key: id+correlation }
    dependencies: [smtp]
    events:
      todo.task.created:
        policy: standard
        channel: email
        deadLetter: { retention: 10d, reprocessing: filtered }
        overrides:
          - { match: { status: 404 }, category: transient, reason: the user service lags behind }
          - { match: { code: ECONNRESET }, category: permanent, reason: "a | b\\n<img src=x>" }
        alerts:
          inflow: { above: 3, severity: critical, action: "ring \`bell\`" }
      todo.task.deleted: { policy: none, timeout: fast }
`,
  'r.yaml',
  {},
)
const sheet = renderSheet(book, { service: 'mail-svc', event: 'todo.task.created' })

describe('a rule sheet', () => {
  it('says everything of the pair', () => {
    for (const line of [
      '# `mail-svc` consuming `todo.task.created`',
      '- Consumer group: `mailers`',
      '- Criticality: critical',
      '- Data loss: losing one is acceptable',
      '- Channel: `email`',
      '- Policy: `standard`',
      '- Limit: 5 retries within 5m, 6 attempts in all',
      '- Backoff: exponential from 1s, × 2, at most 30s, jitter half',
      '- All delays together: at least 15.5s, 23.25s to be expected, at most 31s',
      '- Destination: `_mail-svc.deadletter.email`',
      '- Kept: 10d',
      '- Reprocessing: filtered: a person replays what a filter chooses',
      '- Pattern: idempotent upsert',
      '- Store: `index`',
      '- Remembered: 14d',
      "- Key: the event's id and its correlation id",
      '- Of the handler: kafkaBreaker: opens on failure 5 for 1m, 1 probe, closes on 1',
      '- Of `smtp`: smtp: opens on failure 5 for 2m, 1 probe, closes on 1',
      '- One attempt: 15s',
      '- `smtp`: 30s (`send` 30s)',
    ]) {
      expect(sheet.split('\n')).toContain(line)
    }
  })

  it('tells what each override changes, and by default would be', () => {
    expect(sheet).toMatch(/\| status `404` +\| permanent \| transient \| the user service lags behind +\|/)
    expect(sheet).toMatch(/\| code `ECONNRESET` +\| transient \| permanent \| a &#124; b &#60;img src=x> +\|/)
  })

  it('has the alerts with threshold, severity and action', () => {
    expect(sheet).toMatch(/\| retry rate +\| > 10% +\| warning +\|/)
    expect(sheet).toMatch(
      /\| dead letters arriving +\| > 3 a minute +\| critical +\| ring &#96;bell&#96; +\|/,
    )
    expect(sheet).toMatch(/\| consumer lag +\| > 1000 +\| warning +\|/)
    expect(sheet).toMatch(/\| breaker open +\| > 5m +\| critical +\|/)
  })

  it('is there for a whole service and for a pair that only the defaults cover', () => {
    const all = renderSheet(book, { service: 'mail-svc' })
    expect(all.match(/^# /gm)).toHaveLength(2)
    expect(all).toContain('- No retry: buried on the first failure')
    expect(renderSheet(book, { service: 'other', event: 'x' })).toContain('only the defaults hold')
    expect(() => renderSheet(book, { service: 'mail-svx' })).toThrow("did you mean 'mail-svc'?")
  })

  it('never shows the URL of a store', () => {
    expect(renderSheet(book) + renderMatrix(book) + renderRunbook(book)).not.toMatch(/secret|redis:/)
  })
})

it.for([
  [0, '0ms'],
  [387.5, '388ms'],
  [23_250, '23.25s'],
  [60_000, '1m'],
  [373_875, '6m 14s'],
  [3_599_900, '60m'],
  [7_500_000, '2h 5m'],
] as const)('%d ms are %s', ([ms, text]) => {
  expect(roughly(ms)).toBe(text)
})
