import { describe, expect, it } from 'vitest'
import { BREAKS } from '../../src/core/audit.ts'
import { cli, folderWith } from '../scenarios/child.ts'
import { runsItsPrograms } from './programs.ts'

/** Times, ages and hashes are others each time; columns are as wide as they need be. */
const plain = (text: string): string =>
  text
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'then')
    .replace(/[\d.]+ (ms|s|min)\b/g, 'ago')
    .replace(/[0-9a-f]{64}/g, 'hash')
    .replace(/ +/g, ' ')

const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!)

describe('docs/audit.md', () => {
  const page = runsItsPrograms('docs/audit.md', ['audit.ts'])

  it('shows commands that answer as it shows', async () => {
    const cwd = folderWith()
    const lines = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, text]) =>
      text!.trim().split('\n'),
    )
    expect(lines).toHaveLength(5)
    for (const line of lines) {
      const [, ...args] = words(line)
      const { code, stdout } = await cli(args, { cwd })
      expect([line, code]).toEqual([line, 0])
      const shown = new RegExp(`^\`\`\`text ${args.join(' ')}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page)?.[1]
      if (args[0] === 'audit') expect(plain(stdout)).toBe(plain(shown!))
    }
  })

  it('names every kind of break', () => {
    const named = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, kind]) => kind)
    expect(named).toEqual(BREAKS)
  })
})
