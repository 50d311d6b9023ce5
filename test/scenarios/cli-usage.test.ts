import { describe, expect, it } from 'vitest'
import { cli, folderWith } from './child.ts'

describe('used wrongly', () => {
  const files = {
    'empty.ts': 'export const nothing = 1\n',
    'idle.ts': 'export default () => {}\n',
    'broken.ts': 'export default (app => {\n',
    'throws.ts': "export default () => { throw new TypeError('no database') }\n",
    'bad.yaml': 'version: 1\npolices: {}\n',
  }
  const cases: readonly (readonly [string, RegExp])[] = [
    ['', /Usage: reprieve/],
    ['nonsense', /unknown command 'nonsense'/],
    ['dlq list --bogus', /unknown option '--bogus'/],
    ['dlq list --limit many', /It must be a whole number/],
    [
      'dlq list --state lost',
      /Allowed choices are open, replaying, resolved, dead again, discarded, quarantined, all/,
    ],
    ['dlq list --from tomorrow', /It must be a time such as/],
    ['dlq list --where $.a>', /a value is missing.*\n {2}\$\.a>\n {6}\^/],
    ['dlq replay', /name ids or a filter\n {2}fix: /],
    ['dlq replay --all --service x', /one of them, not several/],
    ['dlq export --file no/such/folder', /no\/such\/folder can't be written: ENOENT.*\n {2}fix: /],
    ['dlq export --file .', /\. can't be read: EISDIR/],
    ['dlq show', /missing required argument 'id'/],
    ['publish', /nothing to publish\n {2}fix: /],
    ['publish task.created {"a":', /the data is not JSON: .*\n {2}fix: quote it/],
    ['publish task.created @missing.json', /the data can't be read: ENOENT/],
    ['publish task.* {}', /can't be the type of an event/],
    ['publish --file missing.jsonl', /the events can't be read: ENOENT/],
    ['publish a.b --header nameless', /It must be written name=value/],
    ['publish a.b {} --transport mqtt://x', /no adapter opens 'mqtt:\/\/x'/],
    ['run missing.ts', /there is no module at missing\.ts/],
    ['run empty.ts', /empty\.ts has no default export that is a function\n {2}fix: /],
    ['run idle.ts', /idle\.ts registers no service/],
    ['run broken.ts', /broken\.ts can't be loaded: SyntaxError/],
    ['run throws.ts', /the default export of throws\.ts threw: TypeError: no database\n.*throws\.ts:1/],
    ['run idle.ts --drain soon', /It must be a duration such as 500ms/],
    ['rules explain a b --rules bad.yaml', /bad\.yaml:2:1 .*polices/],
    ['rules explain a b --rules gone.yaml', /gone\.yaml can't be read/],
  ]

  it.for(cases)('%s', async ([line, message]) => {
    const args = line === '' ? [] : line.split(' ')
    const { code, stdout, stderr } = await cli(args, { cwd: folderWith(files) })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr).not.toMatch(/^ {4}at .*src\//m)
  })

  it('a module in a folder of CommonJS, as `npm init` makes it, is told how to be loaded', async () => {
    const cwd = folderWith({
      'package.json': '{"type":"commonjs"}',
      'imports.ts': "import 'node:fs'\nexport default () => {}\n",
      'exports.js': 'export default () => {}\n',
    })
    for (const [given, named] of [
      ['imports.ts', 'imports.mts'],
      ['exports.js', 'exports.mjs'],
    ] as const) {
      const { code, stderr } = await cli(['run', given], { cwd })
      expect(code).toBe(2)
      expect(stderr).toContain(`${given} can't be loaded: SyntaxError`)
      expect(stderr).toContain(
        `fix: set "type": "module" in the package.json above it, or name it ${named}\n`,
      )
    }
  })

  it('with --json the mistake is JSON too, with its code and its fix apart', async () => {
    const cwd = folderWith()
    const error = async (line: string) =>
      JSON.parse((await cli([...line.split(' '), '--json'], { cwd })).stderr).error
    expect(await error('dlq replay')).toMatchObject({
      code: 'bad_usage',
      message: 'nothing is selected: name ids or a filter',
      fix: expect.stringContaining('reprieve dlq replay'),
    })
    expect(await error('dlq list --bogus')).toMatchObject({ code: 'bad_usage' })
    expect(await error('dlq show 0199aa00-0000-4000-8000-000000000000')).toMatchObject({
      code: 'unknown_letter',
    })
  })

  it('help and version are no mistakes', async () => {
    const cwd = folderWith()
    const help = await cli(['dlq', 'replay', '--help'], { cwd })
    expect(help).toMatchObject({ code: 0, stderr: '' })
    expect(help.stdout).toMatch(/--wait <duration>[\s\S]*--transport <url>/)
    expect(await cli(['--version'], { cwd })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+/),
    })
  })
})
