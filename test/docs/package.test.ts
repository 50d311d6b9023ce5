import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../architecture/source.ts'

/** The files that are published, as npm itself counts them. */
const published = (): ReadonlySet<string> => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const { stdout } = spawnSync('npm', args, { cwd: root, encoding: 'utf8' })
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }]
  return new Set(files.map(({ path }) => path))
}

const linksIn = (file: string): readonly string[] =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/\]\((?!\w+:)([^)#\s]+)/g)].map(([, to]) =>
    normalize(join(dirname(file), to!)).replace(/\/$/, ''),
  )

it('whoever installs the package can follow every link of its README and docs: URL options and TLS are told there', () => {
  const files = published()
  const isThere = (path: string) => files.has(path) || [...files].some((file) => file.startsWith(`${path}/`))
  const pages = [...files].filter((file) => file === 'README.md' || /^docs\/[^/]+\.md$/.test(file))
  expect(pages.length).toBeGreaterThan(20)
  const dangling = pages.flatMap((page) =>
    linksIn(page).flatMap((to) => (isThere(to) ? [] : [`${page} → ${to}`])),
  )
  expect(dangling).toEqual([])
})
