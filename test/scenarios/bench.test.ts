import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runBench } from '../../bench/main.ts'
import { type Report, renewed } from '../../bench/report.ts'
import { describeWith } from '../services/urls.ts'

/** Whoever loses an event, or asks more of the disk or the broker than was promised, makes the run throw. */
const run = (name: string): Promise<Report> => runBench(name, { short: true }, () => {})

const counted = ({ counts }: Report, what: string, of: RegExp): readonly number[] =>
  counts.filter((each) => each.what === what && of.test(each.of)).map(({ most }) => most)

const PATIENCE = 120_000

// nothing here looks at the time: a short run on a busy machine says nothing about it
describeWith('postgres', 'the embedded bench', () => {
  it('counts every event, and at most one commit for a batch', { timeout: PATIENCE }, async () => {
    const report = await run('embedded')
    const commits = counted(report, 'commits per 100 events', /^(publish|consume and ack), reprieve$/)
    expect(commits).toHaveLength(2)
    for (const each of commits) expect(each).toBeLessThanOrEqual(1)
    // throws where the heap grows with what has gone through it
    expect(counted(report, 'times as large', /^the heap/)).toHaveLength(1)
    expect(report.here.map(({ race, contender }) => `${race}: ${contender}`)).toContain('publish: raw')
  })
})

describe('the command', () => {
  it('says before it runs that other rounds than the kept ones can not be kept beside them', () => {
    const main = join(import.meta.dirname, '../../bench/main.ts')
    const args = [main, 'rabbitmq', '--race', 'publish', '--rounds', '6', '--write']
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    expect(status).toBe(2)
    expect(stderr).toMatch(/^bench: kept are 5 rounds: leave out --rounds 6, or run all races/)
  })
})

describe('the policy bench', () => {
  it('sees every call through once, by each contender', { timeout: PATIENCE }, async () => {
    const { here, ratios } = await run('policy')
    expect(here.map(({ contender }) => contender)).toEqual([
      'raw',
      'reprieve',
      'cockatiel: retry, breaker, timeout',
      'opossum: breaker alone',
      'p-retry: retries alone',
      'a bare await',
    ])
    expect(
      ratios.filter(({ contender }) => contender === 'reprieve').map(({ to, aim }) => [to, aim]),
    ).toEqual([
      [undefined, 0.67],
      ['opossum: breaker alone', 1],
      ['cockatiel: retry, breaker, timeout', 8],
    ])
  })
})

describe('the rules bench', () => {
  it('reads every row and resolves every pair', { timeout: PATIENCE }, async () => {
    const report = await run('rules')
    expect(counted(report, 'ms a book', /^load/)).toHaveLength(4)
    expect(counted(report, 'µs a pair', /reprieve/)).toHaveLength(3)
  })
})

/** Who ran in a race, beside the ledger on Redis, which needs a server. */
const contenders = ({ here }: Report, name: string): readonly string[] =>
  here
    .filter(({ race }) => race === name)
    .flatMap(({ contender }) => (/Redis/.test(contender) ? [] : contender))
describe('the office bench', () => {
  it('keeps and replays every letter, and reads no more rows where there are more letters', {
    timeout: PATIENCE,
  }, async () => {
    const report = await run('office')
    const stores = /times the letters(, PostgreSQL)?$/
    for (const what of ['rows read for a page of 50', 'rows of groups and tallies']) {
      const counts = counted(report, `${what}, times as many`, stores)
      expect(counts.length).toBeGreaterThan(0)
      for (const each of counts) expect(each).toBe(1)
    }
    expect(counted(report, 'times as large', /^the heap after (keeping|replaying)/)).toHaveLength(2)
    expect(report.here.map(({ race }) => race)).toContain('replay')
  })
})

describeWith('amqp', 'the rabbitmq bench', () => {
  it('counts every event, and at most two round trips for a retry', { timeout: PATIENCE }, async () => {
    const report = await run('rabbitmq')
    const [trips] = counted(report, 'round trips', /^a retry$/)
    expect(trips).toBeLessThanOrEqual(2)
    expect(contenders(report, 'fail once, then succeed')).toEqual([
      'raw',
      'reprieve',
      'reprieve, retries claimed on SQLite',
      'reprieve, ledger on SQLite',
      'rascal',
    ])
    expect(contenders(report, 'consume and ack')).toContain('rascal')
  })
})

describeWith('kafka', 'the kafka bench', () => {
  it('counts every event, and at most two round trips for a retry', { timeout: PATIENCE }, async () => {
    const report = await run('kafka')
    const [trips] = counted(report, 'round trips', /^a retry$/)
    expect(trips).toBeLessThanOrEqual(2)
    expect(contenders(report, 'fail once, then succeed')).toEqual([
      'raw',
      'reprieve',
      'reprieve, retries claimed on SQLite',
      'reprieve, ledger on SQLite',
      'kafkajs, a retry topic by hand',
    ])
    expect(contenders(report, 'consume and commit')).toContain('kafkajs')
  })
})

describe('kept results', () => {
  const spread = (median: number) => ({ median, min: median, max: median })
  const report = (rate: number, ...races: string[]): Report => ({
    ...{ bench: 'x', rounds: 5, sizes: { events: 10 }, versions: {} },
    ratios: races.map((race) => ({ race, contender: 'reprieve', ...spread(rate), cpu: spread(rate) })),
    counts: races.map((race) => ({ of: `${race}, reprieve`, what: 'commits', most: rate })),
    here: races.flatMap((race) =>
      ['raw', 'reprieve'].map((contender) => ({ race, contender, ...spread(rate), noise: 1 })),
    ),
  })

  it('are renewed race by race, in their place', () => {
    const { ratios, counts, here } = renewed(report(1, 'a', 'b', 'c'), report(2, 'b', 'd'))
    expect(ratios.map(({ race, median }) => [race, median])).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 1],
      ['d', 2],
    ])
    expect(counts.map(({ most }) => most)).toEqual([1, 2, 1, 2])
    expect(here.map(({ race, median }) => `${race}${median}`).join()).toBe('a1,a1,b2,b2,c1,c1,d2,d2')
  })

  it('of another length are not mixed with them', () => {
    expect(() => renewed(report(1, 'a'), { ...report(2, 'a'), rounds: 3 })).toThrow('run it alike')
  })
})
