import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { root } from '../architecture/source.ts'

/** Runs every program of a page (```ts name) and compares what it prints with what the page shows (```text name). */
export const runsItsPrograms = (file: string, names: readonly string[]): string => {
  const page = readFileSync(join(root, file), 'utf8')
  const blocks = [...page.matchAll(/^```(ts|text) (\S+)\n([\s\S]*?)^```$/gm)].map(
    ([, language, name, text]) => ({ language, name: name!, text: text! }),
  )
  const programs = blocks.filter(({ language }) => language === 'ts')

  // inside the project, so that `reprieve` is the package itself
  mkdirSync(join(root, '.tmp'), { recursive: true })
  const folder = mkdtempSync(join(root, '.tmp/docs-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('shows every program with what it prints', () => {
    expect(programs.map(({ name }) => name)).toEqual(names)
    expect(page.match(/^```ts/gm)).toHaveLength(programs.length)
  })

  it.each(programs.map(({ name, text }) => [name, text]))('%s prints what it shows', (name, text) => {
    writeFileSync(join(folder, name), text)
    const printed = execFileSync(process.execPath, ['--conditions=source', join(folder, name)], {
      encoding: 'utf8',
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    expect(printed).toBe(blocks.find((each) => each.language === 'text' && each.name === name)?.text)
  })
  return page
}
