import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadBook } from '../../src/book.ts'
import { delayOf } from '../../src/core/backoff.ts'
import { destinationsFor, type RuleBook, readRules, rulesFor, serviceRules } from '../../src/rules/index.ts'
import { lint } from '../../src/rules/lint/index.ts'
import { root } from '../architecture/source.ts'

/** Every figure here is written out as it was published, and stands nowhere else in this project's code. */

const book = (path: string): Promise<RuleBook> => loadBook(join(root, 'examples', path))

const pipeline = await book('pipeline/reprieve.yaml')
const bots = await book('bots/reprieve.yaml')
const profile = await book('profile/reprieve.yaml')

const SERVICE = 'event-pipeline'
const attemptsOf = (event: string) => rulesFor(pipeline, SERVICE, event).policy.retries + 1
const waits = (of: RuleBook, service: string, event: string, roll = 0.5) => {
  const { backoff, retries } = rulesFor(of, service, event).policy
  return Array.from({ length: retries }, (_, index) => delayOf(backoff, index + 1, () => roll))
}

describe('the pipeline book', () => {
  it.each([
    ['ml.run.started', 5, 'exponential', [1000, 2000, 4000, 8000]],
    ['ml.trial.failed', 3, 'exponential', [1000, 2000]],
    ['ui.command.message.send', 2, 'none', [0]],
    ['system.tick', 3, 'exponential', [1000, 2000]],
    ['anything.else', 3, 'exponential', [1000, 2000]],
    [
      'custom.event.made',
      10,
      'exponential',
      [1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000],
    ],
    ['fast.fail.now', 1, 'none', []],
    ['rate.limited.api.call', 5, 'linear', [10_000, 20_000, 30_000, 40_000]],
  ])('%s: %d attempts, %s', (event, attempts, kind, delays) => {
    expect(attemptsOf(event)).toBe(attempts)
    expect(rulesFor(pipeline, SERVICE, event).policy.backoff.kind).toBe(kind)
    expect(waits(pipeline, SERVICE, event)).toEqual(delays)
  })

  it('spreads by 20% and never waits longer than 300 s, before the spread', () => {
    expect(waits(pipeline, SERVICE, 'ml.run.started', 0)).toEqual([800, 1600, 3200, 6400])
    const { backoff } = rulesFor(pipeline, SERVICE, 'custom.event.made').policy
    expect(delayOf(backoff, 12, () => 0.5)).toBe(300_000)
    expect(delayOf(backoff, 12, () => 0)).toBe(240_000)
  })

  it('asks for events, and batches them, as published', () => {
    expect(serviceRules(pipeline, SERVICE)).toMatchObject({
      concurrency: 10,
      demand: { poll: 1000, atOnce: 50, min: 5, max: 20 },
    })
    expect([...serviceRules(pipeline, SERVICE).batchers.values()]).toEqual([
      { name: 'domain-events', concurrency: 5, size: 25, timeout: 2000, by: 'source' },
      {
        name: 'critical-events',
        concurrency: 2,
        size: 10,
        timeout: 500,
        by: 'source',
        priorities: ['high', 'critical'],
      },
    ])
    expect(rulesFor(pipeline, SERVICE, 'system.tick')).toMatchObject({
      batch: { name: 'domain-events', size: 25 },
      idempotency: { pattern: 'dedup', key: 'id+correlation' },
    })
  })

  it('watches what was published to be watched', () => {
    const { alerts } = rulesFor(pipeline, SERVICE, 'system.tick')
    const thresholds = Object.fromEntries(
      alerts.map(({ metric, over, threshold }) => [metric, [over, threshold]]),
    )
    expect(thresholds).toMatchObject({
      retryRate: ['>', 0.1],
      depth: ['>', 100],
      batchTimeouts: ['>', 0.05],
      duplicates: ['>', 0.2],
    })
  })

  it('for high throughput: more at once, the rest as it was', async () => {
    const tuned = await book('pipeline/high-throughput.yaml')
    expect(serviceRules(tuned, SERVICE)).toMatchObject({
      concurrency: 20,
      demand: { poll: 500, atOnce: 100, min: 10, max: 50 },
    })
    expect(serviceRules(tuned, SERVICE).batchers).toEqual(serviceRules(pipeline, SERVICE).batchers)
    expect(rulesFor(tuned, SERVICE, 'ml.run.started').policy).toEqual(
      rulesFor(pipeline, SERVICE, 'ml.run.started').policy,
    )
  })

  it('for low latency: urgent batches are small and quick, the rest as it was', async () => {
    const tuned = await book('pipeline/low-latency.yaml')
    const { batchers, demand } = serviceRules(tuned, SERVICE)
    expect(batchers.get('critical-events')).toEqual({
      name: 'critical-events',
      concurrency: 5,
      size: 5,
      timeout: 100,
      by: 'source',
      priorities: ['high', 'critical'],
    })
    expect(batchers.get('domain-events')).toMatchObject({ concurrency: 5, size: 25, timeout: 2000 })
    expect(demand).toEqual({ poll: 1000, atOnce: 50, min: 5, max: 20 })
  })
})

describe('the bots’ book', () => {
  it('task-tactician: exponential from 200 ms, 5 attempts, at most 300 s', () => {
    expect(rulesFor(bots, 'task-tactician', 'x').policy).toMatchObject({
      retries: 4,
      backoff: {
        kind: 'exponential',
        initial: 200,
        multiplier: 2,
        max: 300_000,
        jitter: { kind: 'spread', ratio: 0.2 },
      },
    })
    expect(waits(bots, 'task-tactician', 'x')).toEqual([400, 800, 1600, 3200])
    expect(rulesFor(bots, 'task-tactician', 'x')).not.toHaveProperty('breaker')
  })

  it('merge-warden: exponential from 100 ms × 1.5, 3 attempts, at most 120 s, and a breaker', () => {
    const { policy, breaker } = rulesFor(bots, 'merge-warden', 'x')
    expect(policy).toMatchObject({
      retries: 2,
      backoff: { kind: 'exponential', initial: 100, multiplier: 1.5, max: 120_000, jitter: { ratio: 0.2 } },
    })
    expect(breaker).toEqual({ name: 'warden', failures: 10, open: 300_000, probes: 1, successes: 3 })
  })

  it('spec-sentinel: linear by 1 s, 4 attempts, at most 600 s, no jitter', () => {
    expect(rulesFor(bots, 'spec-sentinel', 'x').policy).toEqual({
      name: 'sentinel',
      retries: 3,
      backoff: { kind: 'linear', initial: 1000, step: 1000, max: 600_000, jitter: { kind: 'none' } },
    })
    expect(waits(bots, 'spec-sentinel', 'x')).toEqual([1000, 2000, 3000])
  })

  it('names dead letters after the queue', () => {
    expect(rulesFor(bots, 'merge-warden', 'pull.opened').deadLetter.destination).toBe(
      'merge-warden.pull.opened-dlq',
    )
  })
})

describe('the profile book', () => {
  it('backs off from 1 s, the first retry doubled already, to 60 s, ±10%, five times', () => {
    const { policy } = rulesFor(profile, 'profile', 'user.registered')
    expect(policy).toMatchObject({
      retries: 5,
      backoff: {
        initial: 1000,
        multiplier: 2,
        max: 60_000,
        firstExponent: 1,
        jitter: { kind: 'spread', ratio: 0.1 },
      },
    })
    expect(waits(profile, 'profile', 'user.registered')).toEqual([2000, 4000, 8000, 16_000, 32_000])
    expect(waits(profile, 'profile', 'user.registered', 0)[0]).toBe(1800)
  })

  it('guards the database: 5 failures, 30 s', () => {
    const [database] = rulesFor(profile, 'profile', 'user.deleted').dependencies
    expect(database).toMatchObject({
      name: 'database',
      timeout: 10_000,
      breaker: { failures: 5, open: 30_000 },
    })
  })

  it('buries in <queue>.dlq for a day, and sets poison aside by kind', () => {
    const { topic, deadLetter } = rulesFor(profile, 'profile', 'user.updated')
    expect(topic).toBe('registration')
    expect(deadLetter.destination).toBe('profile.registration.dlq')
    expect(destinationsFor(profile, 'profile', ['user.updated'])).toEqual([
      { name: 'profile.registration.dlq', expire: 86_400_000 },
      ...['schema', 'business', 'integration', 'timeout', 'auth', 'crash', 'expired', 'handler'].map(
        (kind) => ({
          name: `profile.registration.dlq.quarantine.${kind}`,
        }),
      ),
    ])
  })

  it('takes every figure from the environment', () => {
    const text = readFileSync(join(root, 'examples/profile/reprieve.yaml'), 'utf8')
    const tuned = readRules(text, 'reprieve.yaml', {
      RETRY_INITIAL_DELAY: '250ms',
      RETRY_MULTIPLIER: '3',
      RETRY_MAX_DELAY: '5m',
      RETRY_JITTER: '50%',
      RETRY_MAX_RETRIES: '2',
      BREAKER_FAILURE_THRESHOLD: '7',
      BREAKER_RESET_TIMEOUT: '90s',
      DLQ_TTL: '36h',
      PROFILE_DATABASE: 'postgres://db/profiles',
    })
    const { policy, dependencies, deadLetter } = rulesFor(tuned, 'profile', 'user.registered')
    expect(policy).toMatchObject({
      retries: 2,
      backoff: { initial: 250, multiplier: 3, max: 300_000, jitter: { ratio: 0.5 } },
    })
    expect(dependencies[0]?.breaker).toMatchObject({ failures: 7, open: 90_000 })
    expect(deadLetter.expire).toBe(36 * 3_600_000)
    expect(tuned.stores.get('postgres')).toBe('postgres://db/profiles')
  })
})

describe('every shipped book', () => {
  const files = readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.yaml'))
    .sort()

  it('is one of these', () => {
    expect(files).toEqual([
      'bots/reprieve.yaml',
      'pipeline/high-throughput.yaml',
      'pipeline/low-latency.yaml',
      'pipeline/reprieve.yaml',
      'profile/reprieve.yaml',
      'todo/reprieve.yaml',
    ])
  })

  it.each(files)('%s lints clean', async (path) => {
    expect(lint(await book(path))).toEqual([])
  })

  it.each(files)('%s tells editors where the schema is', (path) => {
    const [first] = readFileSync(join(root, 'examples', path), 'utf8').split('\n')
    expect(first).toBe('# yaml-language-server: $schema=../../schema/reprieve.schema.json')
  })
})
