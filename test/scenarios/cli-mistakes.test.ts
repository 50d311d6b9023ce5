import { join } from 'node:path'
import { expect, it } from 'vitest'
import { fillStore } from '../docs/operator-store.ts'
import { cli, folderWith } from './child.ts'

const MISTAKES: readonly (readonly [flags: readonly string[], told: RegExp, code?: number])[] = [
  [['--where', '$.amount >'], /a value is missing[^\n]*\n {2}\$\.amount >\n {12}\^\n {2}fix: /],
  [['--where', '$.amount > 5 or $.b = 1'], /only 'and' and another condition can follow here\n.*\n {15}\^/],
  [['--where', 'amount > 5'], /a path is missing: it begins with \$[^\n]*\n {2}amount > 5\n {2}\^/],
  [['--where', ''], /a path is missing/],
  [['--error', ''], /'error' has no words to look for/],
  [['--payload', ' \t'], /'payload' has no words to look for/],
  [['--group', ''], /the fingerprint of a group is empty/],
  [['--group', 'f1-zzzz'], /no group's fingerprint begins with 'f1-zzzz'/, 1],
  [['--category', 'transiant'], /Allowed choices are transient/],
  [['--kind', 'handlre'], /Allowed choices are schema/],
  [['--from', 'yesterday'], /It must be a time such as/],
  [['--from', '2026-13-45'], /It must be a time such as/],
  [['--to', '2026-02-31'], /It must be a time such as/],
  [['--from', '2026-01-01T25:00Z'], /It must be a time such as/],
  [['--from', '1h', '--to', '5h'], /nothing is buried from .* on and before .*\n {2}fix: the earlier time/],
]

it('a filter with a mistake is refused with its place, and nothing is found or done by it', async () => {
  const cwd = folderWith()
  await fillStore(`sqlite:${join(cwd, 'reprieve.db')}`)
  const refused = async ([flags, told, code = 2]: (typeof MISTAKES)[number], command: string) => {
    const ended = await cli(['dlq', command, ...flags], { cwd })
    const stderr = expect.stringMatching(told)
    expect({ ...ended, flags }).toMatchObject({ flags, code, stdout: '', stderr })
  }
  for (const pair of MISTAKES.flatMap((_, n) => (n % 2 === 0 ? [MISTAKES.slice(n, n + 2)] : [])))
    await Promise.all(pair.map((each) => refused(each, 'discard')))
  await Promise.all([refused(MISTAKES[0]!, 'list'), refused(MISTAKES[4]!, 'replay')])
  const listed = await cli(['dlq', 'list', '--state', 'opne'], { cwd })
  expect(listed).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('Allowed choices are'),
  })

  // a name that nobody has is no mistake for sure, but no good news either
  const slips = ['--service', 'mial-svc', '--event', 'task.craeted', '--code', 'ECONREFUSED']
  const { code, stdout, stderr } = await cli(['dlq', 'list', ...slips], { cwd })
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'no dead letters\n' })
  for (const slip of [`of the service 'mial-svc'`, `of the type 'task.craeted'`, `the code 'ECONREFUSED'`])
    expect(stderr).toContain(slip)
  const left = await cli(['dlq', 'list', '--state', 'discarded', '--json'], { cwd })
  expect(JSON.parse(left.stdout)).toMatchObject({ count: 0 })
})
