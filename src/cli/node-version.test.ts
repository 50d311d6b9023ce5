import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { checkNode, NEEDED } from './node-version.ts'

it.for(['22.22.3', '22.23.0', '24.15.0', '24.21.0', '25.0.0', '26.1.0-nightly'])(
  'Node %s will do',
  (version) => {
    expect(() => checkNode(version)).not.toThrow()
  },
)

it.for(['18.19.0', '20.20.2', '22.22.2', '22.5.9', '23.11.0', '24.14.9', '24.0.0'])(
  'Node %s is refused with what is needed',
  (version) => {
    const refused = { code: 'bad_usage', fix: expect.stringContaining('newer Node') }
    expect(() => checkNode(version)).toThrow(expect.objectContaining(refused))
    expect(() => checkNode(version)).toThrow(`this is Node ${version}, and Reprieve needs ${NEEDED}`)
  },
)

it('asks for what the package asks for', () => {
  const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(engines.node).toBe(NEEDED)
})
