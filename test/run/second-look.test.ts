import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { secondLook, worthASecondLook } from './second-look.ts'
import { TOLD_IN, type Told, type ToldFile, testsThat } from './told.ts'

const file = (path: string, ...tests: [name: string, is: string][]): ToldFile => ({
  path,
  failed: tests.length === 0 || tests.some(([, is]) => is === 'failed'),
  tests: tests.map(([name, is]) => ({ name, is })),
})
const told = (...files: ToldFile[]): Told => ({ files, unhandled: 0 })

describe('a second look', () => {
  it('is had at files that failed, a few of them', () => {
    const failed = (n: number) => file(`test/scenarios/${n}.test.ts`, ['works', 'failed'])
    expect(worthASecondLook(told(file('a.test.ts', ['works', 'passed']), failed(1)))).toEqual([
      'test/scenarios/1.test.ts',
    ])
    expect(worthASecondLook(told(...[1, 2, 3, 4, 5].map(failed)))).toHaveLength(5)
    expect(worthASecondLook(told(...[1, 2, 3, 4, 5, 6].map(failed)))).toEqual([])
  })

  it('excuses nothing where an event may have been lost or doubled, or where an error was nobody’s', () => {
    const slow = file('test/scenarios/slow.test.ts', ['works', 'failed'])
    expect(worthASecondLook(told(slow, file('test/chaos/tx.test.ts', ['once', 'failed'])))).toEqual([])
    expect(worthASecondLook(told(slow, file('src/testing/simulator/simulate.test.ts')))).toEqual([])
    expect(worthASecondLook({ files: [slow], unhandled: 1 })).toEqual([])
  })

  it('tells of each test that failed whether it passed then', () => {
    const first = told(
      file('a.test.ts', ['flakes', 'failed'], ['breaks', 'failed'], ['goes', 'failed'], ['works', 'passed']),
      file('b.test.ts'),
      file('c.test.ts'),
    )
    const second = told(
      file('a.test.ts', ['flakes', 'passed'], ['breaks', 'failed'], ['works', 'passed']),
      file('b.test.ts', ['works', 'passed']),
    )
    expect(secondLook(first, second)).toEqual([
      { test: 'a.test.ts › flakes', passed: true },
      { test: 'a.test.ts › breaks', passed: false },
      { test: 'a.test.ts › goes', passed: false },
      { test: 'b.test.ts', passed: true },
      { test: 'c.test.ts', passed: false },
    ])
  })

  it('goes by what vitest really told: failures, broken files, skips, and errors of nobody', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reprieve-told-'))
    try {
      const vitest = join(import.meta.dirname, '../../node_modules/vitest')
      const tests = (name: string, text: string) =>
        writeFileSync(
          join(folder, `${name}.test.ts`),
          `import { expect, it } from '${vitest}/dist/index.js'\n${text}`,
        )
      tests(
        'some',
        `it('works', () => {}); it('breaks', () => expect(1).toBe(2)); it.skip('waits', () => {})`,
      )
      tests('broken', `throw new Error('before any test')`)
      tests('stray', `it('leaves', () => void Promise.reject(new Error('nobody looks')))`)
      const out = join(folder, 'told.json')
      await promisify(execFile)(
        process.execPath,
        [join(vitest, 'vitest.mjs'), 'run', `--reporter=${join(import.meta.dirname, 'reporter.ts')}`],
        { cwd: folder, env: { ...process.env, [TOLD_IN]: out } },
      ).catch(() => {}) // tests failed: that is what it is about
      const all = JSON.parse(readFileSync(out, 'utf8')) as Told
      expect(testsThat(all, 'passed').toSorted()).toEqual(['leaves', 'works'])
      expect(testsThat(all, 'failed')).toEqual(['breaks'])
      expect(testsThat(all, 'skipped')).toEqual(['waits'])
      expect(
        all.files
          .filter(({ failed }) => failed)
          .map(({ path }) => path)
          .toSorted(),
      ).toEqual(['broken.test.ts', 'some.test.ts'])
      expect(all.unhandled).toBe(1)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
