import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadBook } from '../../src/book.ts'
import { rulesFor } from '../../src/rules/index.ts'
import { root } from '../architecture/source.ts'

const todo = await loadBook(join(root, 'examples/todo/reprieve.yaml'))

/** As published: initial delay, longest delay, retries, window. */
const FIGURES: Readonly<Record<string, readonly [number, number, number, number]>> = {
  aggressive: [500, 5000, 3, 15_000],
  standard: [1000, 30_000, 5, 300_000],
  patient: [2000, 60_000, 8, 900_000],
  critical: [1000, 120_000, 12, 1_800_000],
}

/** As published, row by row; where it names no store for a state check, there is none here. */
const MATRIX = `
notification-svc  todo.task.created             standard    dedup/redis           _notification-svc.deadletter        kafkaBreaker     15
notification-svc  todo.task.completed           standard    dedup/redis           _notification-svc.deadletter        kafkaBreaker     15
notification-svc  todo.task.priority-changed    standard    dedup/redis           _notification-svc.deadletter        kafkaBreaker     15
notification-svc  todo.reminder.fired           critical    upsert/postgres       _notification-svc.deadletter        kafkaBreaker     30
notification-svc  notification.dispatch.email   patient     dedup/redis           _notification-svc.deadletter.email  externalBreaker  30
notification-svc  notification.dispatch.sms     patient     dedup/redis           _notification-svc.deadletter.sms    externalBreaker  15
analytics-svc     todo.task.created             standard    upsert/postgres       _analytics-svc.deadletter           kafkaBreaker     10
analytics-svc     todo.task.completed           standard    upsert/postgres       _analytics-svc.deadletter           kafkaBreaker     10
analytics-svc     todo.task.priority-changed    standard    upsert/postgres       _analytics-svc.deadletter           kafkaBreaker     10
analytics-svc     todo.batch.executed           standard    upsert/postgres       _analytics-svc.deadletter           kafkaBreaker     15
search-indexer    todo.task.created             standard    upsert/index          _search-indexer.deadletter          stateBreaker     10
search-indexer    todo.task.updated             standard    upsert/index          _search-indexer.deadletter          stateBreaker     10
search-indexer    todo.task.deleted             aggressive  state                 _search-indexer.deadletter          stateBreaker     5
search-indexer    todo.task.tag-added           standard    upsert/index          _search-indexer.deadletter          stateBreaker     10
search-indexer    todo.task.tag-removed         standard    upsert/index          _search-indexer.deadletter          stateBreaker     10
recurrence-svc    todo.task.completed           critical    transaction/postgres  _recurrence-svc.deadletter          kafkaBreaker     15
recurrence-svc    todo.recurrence.rule-created  critical    transaction/postgres  _recurrence-svc.deadletter          kafkaBreaker     15
reminder-svc      todo.task.due-date-set        critical    dedup/redis           _reminder-svc.deadletter            kafkaBreaker     10
reminder-svc      todo.task.due-date-changed    critical    dedup/redis           _reminder-svc.deadletter            kafkaBreaker     10
reminder-svc      todo.reminder.snoozed         standard    dedup/redis           _reminder-svc.deadletter            kafkaBreaker     10
reminder-svc      reminder.job.callback         aggressive  state                 _reminder-svc.deadletter            sidecarBreaker   5
`
const rows = MATRIX.trim()
  .split('\n')
  .map((line) => line.split(/ +/) as [string, string, string, string, string, string, string])

describe('the Todo book', () => {
  it.each(rows)('%s consuming %s', (service, event, name, pattern, destination, breaker, seconds) => {
    const rules = rulesFor(todo, service, event)
    const [initial, max, retries, window] = FIGURES[name]!
    const { idempotency, deadLetter } = rules
    expect(rules.covered).toBe('exact')
    expect(rules.policy).toEqual({
      name,
      retries,
      window,
      backoff: {
        kind: 'exponential',
        initial,
        multiplier: 2,
        max,
        firstExponent: 0,
        jitter: { kind: 'half' },
      },
    })
    expect(pattern).toBe(
      idempotency.pattern === 'state' ? 'state' : `${idempotency.pattern}/${idempotency.store}`,
    )
    expect(idempotency).toMatchObject({ ttl: 7 * 86_400_000, key: 'id' })
    expect(deadLetter).toMatchObject({ destination, retention: 30 * 86_400_000 })
    expect(rules.breaker?.name).toBe(breaker)
    expect(rules.timeout).toBe(Number(seconds) * 1000)
  })

  it('has these rows and no others', () => {
    const written = [...todo.services].flatMap(([service, { events }]) =>
      Object.keys(events ?? {}).map((event) => `${service} ${event}`),
    )
    expect(written).toEqual(rows.map(([service, event]) => `${service} ${event}`))
  })

  it.each([
    ['kafkaBreaker', 5, 60, 1, 60],
    ['stateBreaker', 3, 30, 1, 30],
    ['externalBreaker', 5, 120, 2, 120],
    ['sidecarBreaker', 3, 15, 1, 15],
  ])('%s opens on failure %d for %d s', (name, failures, open, probes, interval) => {
    expect(todo.breakers.get(name)).toEqual({
      name,
      failures,
      open: open * 1000,
      probes,
      successes: 1,
      interval: interval * 1000,
    })
  })

  it('targets the published components and apps for Dapr', () => {
    const { components, apps } = todo.dapr
    expect(components).toMatchObject({
      'pubsub-kafka': {
        outbound: { policy: 'standard', timeout: 'default', breaker: 'kafkaBreaker' },
        inbound: { policy: 'standard', timeout: 'slow' },
      },
      'statestore-redis': { outbound: { policy: 'aggressive', timeout: 'fast', breaker: 'stateBreaker' } },
      'statestore-postgres': {
        outbound: { policy: 'standard', timeout: 'default', breaker: 'stateBreaker' },
      },
      'binding-smtp-email': { outbound: { policy: 'patient', timeout: 'slow', breaker: 'externalBreaker' } },
      'binding-http-webhook': {
        outbound: { policy: 'patient', timeout: 'slow', breaker: 'externalBreaker' },
      },
    })
    expect(apps).toMatchObject({
      'todo-api': { policy: 'aggressive', timeout: 'default', breaker: 'sidecarBreaker' },
      'notification-svc': { policy: 'standard', timeout: 'default', breaker: 'sidecarBreaker' },
    })
  })
})
