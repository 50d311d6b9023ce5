import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { linesOf } from '../../src/cli/dlq/lines.ts'
import { reprieve } from '../../src/index.ts'
import { fillStore } from '../docs/operator-store.ts'
import { cli, folderWith, root, startCli, startNode } from './child.ts'

const store = (cwd: string, name: string) => ['--transport', `sqlite:${join(cwd, name)}`]

const counted = (path: string, sql: string): number => {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return Number(database.prepare(`SELECT ${sql} AS n`).get()?.n)
  } finally {
    database.close()
  }
}

/** The same of a file that may not be made yet, or be busy; by one connection, for it is asked often. */
const counter = (path: string, sql: string) => {
  let database: DatabaseSync | undefined
  return {
    now: (): number => {
      try {
        database ??= new DatabaseSync(path, { readOnly: true })
        return Number(database.prepare(`SELECT ${sql} AS n`).get()?.n)
      } catch {
        return 0
      }
    },
    close: () => database?.close(),
  }
}

/** Kills the process once what the statement counts has begun to change. */
const killedAt = async (running: ReturnType<typeof startNode>, path: string, sql: string, from: number) => {
  const count = counter(path, sql)
  let over = false
  void running.ended.then(() => {
    over = true
  })
  for (;;) {
    const ended = over // before it is looked: what it did last counts too
    const now = count.now()
    if (now !== from && now > 0) break
    if (ended) throw new Error(`it ended before anything was there: ${(await running.ended).stderr}`)
    await systemClock.sleep(2)
  }
  running.signal('SIGKILL')
  await running.ended
  count.close()
}

const looked = async (path: string) => {
  await using app = await reprieve({ transport: `sqlite:${path}`, office: false })
  const letters = []
  for (let after: string | undefined; ; ) {
    const page = await app.office.list({}, 500, after)
    letters.push(...page)
    if (page.length < 500) break
    after = page.at(-1)!.letter.id
  }
  return {
    letters,
    stats: await app.office.stats(),
    acts: await app.audit.list({}, 10_000),
    verified: await app.audit.verify(),
  }
}

describe('letters in a file', () => {
  it('come back as they were, with states and versions, and once only', async () => {
    const cwd = folderWith()
    await fillStore(`sqlite:${join(cwd, 'a.db')}`)
    const run = (...args: string[]) => cli(args, { cwd })
    const group = ['--service', 'payment-svc', '--where', '$.country = "NO"']
    await run('dlq', 'repair', ...group, '--set', '$.amount=1', ...store(cwd, 'a.db'))
    await run('dlq', 'discard', '--service', 'search-svc', ...store(cwd, 'a.db'))
    const written = await run('dlq', 'export', '--file', 'letters.jsonl', ...store(cwd, 'a.db'))
    expect(written).toMatchObject({ code: 0, stdout: '1160 letters written\n' })
    expect(readFileSync(join(cwd, 'letters.jsonl'), 'utf8')).toMatch(/^[\x20-\x7e\n]+$/)

    expect(await run('dlq', 'import', 'letters.jsonl', ...store(cwd, 'b.db'))).toMatchObject({
      code: 0,
      stdout: '1160 letters kept\n',
    })
    const [a, b] = [await looked(join(cwd, 'a.db')), await looked(join(cwd, 'b.db'))]
    expect(b.letters).toEqual(a.letters)
    expect(b.stats.states).toEqual(a.stats.states)
    expect(b.letters.filter(({ repair }) => repair).length).toBe(67)
    expect(b.acts.map(({ act, count }) => [act, count])).toContainEqual(['import', 100])
    expect(b.verified.broken).toBeUndefined()
    expect((await run('dlq', 'import', 'letters.jsonl', ...store(cwd, 'b.db'))).stdout).toBe(
      '0 letters kept, 1160 were here already\n',
    )
    expect(await run('dlq', 'export', '--file', 'letters.jsonl', ...store(cwd, 'a.db'))).toMatchObject({
      stdout: 'letters.jsonl is whole already\n',
      stderr: 'nothing was written: for letters that came since name another file\n',
    })
    const again = await run('dlq', 'export', '--json', '--file', 'letters.jsonl', ...store(cwd, 'a.db'))
    expect(JSON.parse(again.stdout)).toEqual({ count: 0, whole: true })
  })

  it('an export that was stopped is gone on with, in the middle of a line too', async () => {
    const cwd = folderWith()
    await fillStore(`sqlite:${join(cwd, 'a.db')}`)
    const file = join(cwd, 'letters.jsonl')
    const run = (...args: string[]) => cli(args, { cwd })
    await run('dlq', 'export', '--file', file, ...store(cwd, 'a.db'))
    const whole = readFileSync(file, 'utf8')
    truncateSync(file, Math.floor(statSync(file).size / 2))
    const other = await run('dlq', 'export', '--service', 'mail-svc', '--file', file, ...store(cwd, 'a.db'))
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('begun with another filter') })
    expect(await run('dlq', 'import', file, ...store(cwd, 'b.db'))).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/letters\.jsonl:\d+: it is no JSON/),
    })
    await run('dlq', 'export', '--file', file, ...store(cwd, 'a.db'))
    expect(readFileSync(file, 'utf8')).toBe(whole)
  })

  it('nothing is kept of a file that is not whole, and the line is named', async () => {
    const cwd = folderWith()
    await fillStore(`sqlite:${join(cwd, 'a.db')}`)
    const run = (...args: string[]) => cli(args, { cwd })
    const out = await run('dlq', 'export', '--service', 'search-svc', ...store(cwd, 'a.db'))
    const lines = out.stdout.trimEnd().split('\n')
    expect([out.code, lines.length]).toEqual([0, 62])
    const with3 = (line: string) => lines.with(2, line)
    const cases: readonly (readonly [readonly string[] | Buffer, RegExp])[] = [
      [lines.slice(0, -1), /bad\.jsonl:62: the closing line is missing/],
      [lines.toSpliced(5, 1), /:61: it has 59 letters, and 60 were written/],
      [with3(lines[2]!.replace('search-svc', 'sea_ch-svc')), /:62: .*the hash differs/],
      [with3('{"letter":{"dlqId":"../../etc"}}'), /:3: 'dlqId' is missing/],
      [with3(lines[2]!.replace('"quarantined"', '"on fire"')), /:3: 'state' is none of a letter/],
      [with3('[]'), /:3: it is no object/],
      [with3('{"letter"'), /:3: it is no JSON/],
      [with3(`{"__proto__":{"letter":1}}`), /:3: 'letter' is missing/],
      [[...lines, lines[2]!], /:63: it goes on behind its closing line/],
      [lines.slice(1), /:1: a file of letters begins with the line/],
      [['{"reprieve":"letters","version":2}'], /:1: its version is 2/],
      [[''], /:1: it is no JSON/],
      [Buffer.from([0xff, 0xfe, 0x0a]), /:1: it is no UTF-8/],
    ]
    const bad = join(cwd, 'bad.jsonl')
    await using app = await reprieve({ transport: `sqlite:${join(cwd, 'b.db')}`, office: false })
    for (const [content, why] of cases) {
      writeFileSync(bad, Buffer.isBuffer(content) ? content : `${content.join('\n')}\n`)
      await expect(app.office.importLines(() => linesOf(bad), { file: bad })).rejects.toThrow(why)
    }
    // and what a user sees of it
    const ended = await run('dlq', 'import', 'bad.jsonl', ...store(cwd, 'b.db'))
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringMatching(/bad\.jsonl:1: it is no UTF-8/)])
    expect((await looked(join(cwd, 'b.db'))).letters).toEqual([])
    expect(await run('dlq', 'import', 'nowhere.jsonl', ...store(cwd, 'b.db'))).toMatchObject({ code: 2 })
  })
})

describe('killed in the middle of it', () => {
  const LETTERS = 'count(*) FROM reprieve_letter'
  const VERSIONS = 'count(*) FROM reprieve_letter_repair'

  it('an import is done again, and each letter is there once', async () => {
    const cwd = folderWith()
    await fillStore(`sqlite:${join(cwd, 'a.db')}`)
    await cli(['dlq', 'export', '--file', 'all.jsonl', ...store(cwd, 'a.db')], { cwd })
    const path = join(cwd, 'b.db')
    const running = startCli(['dlq', 'import', 'all.jsonl', ...store(cwd, 'b.db')], { cwd })
    await killedAt(running, path, `(SELECT ${LETTERS})`, 0)
    const before = counted(path, `(SELECT ${LETTERS})`)
    const again = await cli(['dlq', 'import', 'all.jsonl', ...store(cwd, 'b.db')], { cwd })
    expect(again.stdout).toBe(
      `${1160 - before} letters kept${before > 0 ? `, ${before} were here already` : ''}\n`,
    )
    const { letters, stats, acts, verified } = await looked(path)
    expect([letters.length, stats.total]).toEqual([1160, 1160])
    expect(acts.reduce((sum, { count }) => sum + count, 0)).toBe(1160)
    expect(verified.broken).toBeUndefined()
  })

  it('a repair of many is done again, and none is repaired twice', async () => {
    const cwd = folderWith({
      'patch.json': '[{"op":"add","path":"/tries","value":[]},{"op":"add","path":"/tries/-","value":1}]',
    })
    await fillStore(`sqlite:${join(cwd, 'a.db')}`)
    const path = join(cwd, 'a.db')
    const repair = [
      'dlq',
      'repair',
      '--service',
      'mail-svc',
      '--patch',
      'patch.json',
      '--reason',
      'r',
      ...store(cwd, 'a.db'),
    ]
    await killedAt(startCli(repair, { cwd }), path, `(SELECT ${VERSIONS})`, 0)
    const before = counted(path, `(SELECT ${VERSIONS})`)
    const again = await cli(repair, { cwd })
    expect(again.stdout).toContain(`${900 - before} repaired`)
    const { letters, acts, verified } = await looked(path)
    const repaired = letters.filter(({ repair }) => repair)
    expect(repaired.length).toBe(900)
    expect(new Set(repaired.map(({ repair }) => repair!.version))).toEqual(new Set([1]))
    expect(acts.filter(({ act }) => act === 'repair').reduce((sum, { count }) => sum + count, 0)).toBe(900)
    expect(verified.broken).toBeUndefined()
  })

  it('retention goes on, and its entries tell each letter that is gone', async () => {
    const cwd = folderWith({
      'reprieve.yaml':
        'version: 1\ndefaults: { deadLetter: { retention: 1h } }\nservices: { search-svc: { deadLetter: { retention: 30d } } }\n',
    })
    await fillStore(`sqlite:${join(cwd, 'a.db')}`)
    const path = join(cwd, 'a.db')
    const worker = () => startNode([join(root, 'test/scenarios/retention-worker.ts'), path], { cwd })
    await killedAt(worker(), path, `(SELECT ${LETTERS})`, 1160)
    const before = counted(path, `(SELECT ${LETTERS})`)
    const { stdout } = await worker().ended
    const { letters, stats, acts, verified } = await looked(path)
    // those of the hour before are past it, and search-svc keeps its own for a month
    expect(letters.length).toBe(stats.total)
    expect(letters.length).toBe(1160 - 360)
    expect(stdout).toBe(`removed ${before - letters.length}\n`)
    expect(stats.subscriptions.map(({ service, open }) => [service, open]).sort()).toEqual([
      ['mail-svc', 540],
      ['payment-svc', 200],
      ['search-svc', 60],
    ])
    expect(acts.map(({ who, act }) => `${act} by ${who}`)).toContain('retention by worker')
    expect(acts.reduce((sum, { count }) => sum + count, 0)).toBe(360)
    expect(verified.broken).toBeUndefined()
  })
})
