import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cli, folderWith, root } from './child.ts'

describe('reprieve rules schema', () => {
  it('prints the schema that is shipped', async () => {
    const { code, stdout, stderr } = await cli(['rules', 'schema'], { cwd: folderWith() })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toEqual(
      JSON.parse(readFileSync(join(root, 'schema/reprieve.schema.json'), 'utf8')),
    )
  })
})

describe('reprieve rules explain', () => {
  it('reads the books that a book extends, and tells in which of them each value stands', async () => {
    const cwd = folderWith({
      'reprieve.yaml': 'version: 1\nextends: ./base.yaml\ndefaults: { timeout: 7s }\n',
      'base.yaml': 'version: 1\n\ndefaults: { timeout: 5s, criticality: high }\n',
    })
    const { stdout } = await cli(['rules', 'explain', 'mail', 'sent', '--json'], { cwd })
    expect(JSON.parse(stdout)).toMatchObject({
      covered: 'default',
      timeoutMs: 7000,
      delays: { leastMs: 15_500, greatestMs: 31_000 },
      consumer: { concurrency: 10, demand: null },
      provenance: {
        timeout: { file: expect.stringMatching(/reprieve\.yaml$/), line: 3 },
        criticality: { file: expect.stringMatching(/base\.yaml$/), line: 3 },
      },
    })
    const told = await cli(['rules', 'explain', 'mail', 'sent'], { cwd })
    expect(told.stdout).toMatch(/^ {2}delays in all +15\.5s to 23\.3s to 31s +built in$/m)
    expect(told.stderr).toMatch(/these are the defaults/)
  })

  it('refuses a circle of books, a missing one and a URL, each with its place', async () => {
    const cwd = folderWith({
      'a.yaml': 'version: 1\nextends: ./sub/../b.yaml\n',
      'b.yaml': 'version: 1\nextends: [a.yaml, gone.yaml, "https://host/x.yaml", .]\n',
    })
    const { code, stderr } = await cli(['rules', 'explain', 'a', 'b', '--rules', './a.yaml'], { cwd })
    expect(code).toBe(2)
    expect(stderr).toMatch(/b\.yaml:2:11 extends\.0: found 'a\.yaml', which leads back to \.\/a\.yaml/)
    expect(stderr).toMatch(/b\.yaml:2:19 extends\.1: found 'gone\.yaml', which does not exist/)
    expect(stderr).toMatch(/b\.yaml:2:30 extends\.2: .* a URL/)
    expect(stderr).toMatch(/b\.yaml:2:53 extends\.3: found '\.', which is no file/)
  })
})
