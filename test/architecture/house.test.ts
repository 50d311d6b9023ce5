import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from './source.ts'

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => /\.(ts|mjs|js|json|md|ya?ml|txt)$/.test(path) && existsSync(join(root, path)))

const containing = (pattern: RegExp): string[] =>
  tracked.filter(
    (path) =>
      path !== 'test/architecture/house.test.ts' && pattern.test(readFileSync(join(root, path), 'utf8')),
  )

/** A test's own `skip` takes the reason alone; all others need the word, within two lines or in a comment above. */
const SKIP = /^\s*(?:else |return )?(?:(?:it|test|describe)\.(?:skip|skipIf|runIf)\(|x(?:it|test|describe)\()/
const REASONED = /\btest\.skip\((?:'[^']*'|\w+)\)/

const silentSkips = (text: string): readonly string[] => {
  const lines = text.split('\n')
  return lines.filter((line, at) => {
    if (!SKIP.test(line) || REASONED.test(line)) return false
    const title = lines.slice(at, at + 2).join('\n')
    return !(/\(skipped\b|\$\{why\}/.test(title) || /^\s*\/\/ skipped\b/.test(lines[at - 1] ?? ''))
  })
}

describe('the house', () => {
  it('names no machine, no registry, no folder outside itself', () => {
    expect(containing(/(^|[^\w.])\/(work|root|home)\/\w/m)).toEqual([])
    expect(containing(/registry\.(npmjs|yarnpkg)|repo1?\.maven\.apache|deb\.debian\.org/)).toEqual([])
    expect(containing(/"resolved": "https?:/)).toEqual([])
    expect(containing(/\.\.\/shared\b/)).toEqual([])
  })

  it('leaves no unfinished marks and no skipped or focused tests', () => {
    const unfinished = tracked
      .filter((path) => path.startsWith('src/'))
      .filter((path) => /\b(TODO|FIXME|XXX)\b/.test(readFileSync(join(root, path), 'utf8')))
    expect(unfinished).toEqual([])
    expect(containing(/\b(it|test)\.(only|todo)\(|describe\.only\(/)).toEqual([])
  })

  it('skips a test only with a reason, in its title or in the line above', () => {
    const silent = tracked
      .filter((path) => path.endsWith('.ts') && path !== 'test/architecture/house.test.ts')
      .flatMap((path) =>
        silentSkips(readFileSync(join(root, path), 'utf8')).map((skip) => `${path}: ${skip}`),
      )
    expect(silent).toEqual([])
    expect(silentSkips("  it.skip('adds up', () => {})\n")).toHaveLength(1)
    expect(silentSkips("  xit('adds up', () => {})\n")).toHaveLength(1)
    expect(silentSkips("  it.skipIf(!here)('adds up', () => {})\n")).toHaveLength(1)
    expect(silentSkips("  describe.skip('adds up (skipped: no server)', () => {})\n")).toEqual([])
    expect(
      silentSkips("  // skipped where there is no server\n  it.skipIf(!here)('adds up', () => {})\n"),
    ).toEqual([])
    expect(silentSkips("    if (!here) return test.skip('no server')\n")).toEqual([])
  })

  it('locks every optional package of every platform, or npm ci would refuse', () => {
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { optionalDependencies?: Record<string, string> }>
    }
    const missing = Object.values(packages)
      .flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
      .filter((name) => !packages[`node_modules/${name}`])
    expect(missing).toEqual([])
  })

  it('installs nothing by script', () => {
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { hasInstallScript?: boolean; optional?: boolean }>
    }
    const scripted = Object.entries(lock.packages).filter(
      ([, { hasInstallScript, optional }]) => hasInstallScript && !optional,
    )
    expect(scripted.map(([name]) => name)).toEqual([])
  })
})
