import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cli, folderWith, startCli } from './child.ts'

interface Tally {
  accepted: number
  done: number
  waiting: number
  dead: number
  inFlight: number
}

const sum = ({ done, waiting, dead, inFlight }: Tally) => done + waiting + dead + inFlight

describe('reprieve demo', () => {
  it('tells the story in lines, ends with a table that adds up, and leaves no letter and no folder behind', async () => {
    const cwd = folderWith()
    const { code, stdout, stderr } = await cli(['demo', '--for', '6s'], { cwd, env: { TMPDIR: cwd } })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const told of [
      /retry +ada@example\.org +421 not available +in \d/,
      /retry +ines@example\.org +450 too many from you/,
      /retry +kim@example\.org +read ECONNRESET/,
      /retry +nils@example\.org +the call to smtp took longer than 1000/,
      /dead +jon@example\.org +550 no such mailbox +permanent/,
      /dead +mo@example\.org +451 come back later +attempts exhausted/,
      /dead +pia@example\.org +the data does not fit its schema.* +undecodable/,
      /20 accepted = 16 done \+ 0 waiting \+ 4 dead \+ 0 in flight/,
      /replay +4 dead letters go back/,
      /sent +pia@example\.org/,
      /after the replay +20 +20 +0 +0 +0/,
      /It adds up\. 20 mails, none of them twice/,
    ]) {
      expect(stdout).toMatch(told)
    }
    expect(stdout).not.toContain('\u001b')
    expect(/rules +(\S+)/.exec(stdout)?.[1]).toContain(cwd)
    expect(existsSync(/rules +(\S+)/.exec(stdout)![1]!)).toBe(false)
  })

  it('with --json every line is JSON; with --db the database stays, and its office has no open letter', async () => {
    const cwd = folderWith()
    const { code, stdout } = await cli(
      ['demo', '--for', '3s', '--events', '100', '--db', 'kept.db', '--json'],
      { cwd },
    )
    expect(code, stdout.slice(-2000)).toBe(0)
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { is: string } & Record<string, unknown>)
    const ending = lines.at(-1) as unknown as {
      is: string
      before: Tally
      after: Tally
      replayed: number
      wrong: []
    }
    expect(ending).toMatchObject({ is: 'ending', replayed: 20, doubles: 0, wrong: [] })
    expect(ending.after).toEqual({ accepted: 100, done: 100, waiting: 0, dead: 0, inFlight: 0 })
    expect(sum(ending.before)).toBe(100)
    // what the journal told is the same story
    expect(lines.filter(({ is }) => is === 'done')).toHaveLength(100)
    expect(lines.filter(({ is }) => is === 'receipt')).toHaveLength(20)

    expect(existsSync(join(cwd, 'kept.db'))).toBe(true)
    const list = await cli(['dlq', 'list', '--transport', 'sqlite:kept.db', '--json'], { cwd })
    expect(JSON.parse(list.stdout)).toMatchObject({ count: 0, letters: [] })
    const all = await cli(['dlq', 'list', '--state', 'resolved', '--transport', 'sqlite:kept.db', '--json'], {
      cwd,
    })
    expect(JSON.parse(all.stdout)).toMatchObject({ count: 20 })

    const again = await cli(['demo', '--db', 'kept.db'], { cwd })
    expect(again.code).toBe(2)
    expect(again.stderr).toContain('kept.db exists already')
  })

  it('can be left in the middle', async () => {
    const demo = startCli(['demo'], { cwd: folderWith() })
    await demo.said('retry')
    demo.signal('SIGINT')
    expect((await demo.ended).code).toBe(130)
  })
})
