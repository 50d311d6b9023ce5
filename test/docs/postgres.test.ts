import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { reprieve } from '../../src/index.ts'
import { root } from '../architecture/source.ts'
import { cli, folderWith } from '../scenarios/child.ts'
import { someLetters } from '../scenarios/letters.ts'
import { describeWith } from '../services/urls.ts'
import { ownSchema, plainly } from '../stores/postgres.ts'

const page = readFileSync(join(root, 'docs/postgres.md'), 'utf8')

describeWith('postgres', 'docs/postgres.md', (url) => {
  it('shows commands that work', async () => {
    const cwd = folderWith()
    const store = ownSchema(url)
    const app = await reprieve({ transport: 'memory:', store })
    await app.store.letters.keep(someLetters(12))
    await app.close()
    const lines = /^```sh\n([\s\S]*?)^```$/m.exec(page)![1]!.trim().split('\n')
    const env = { REPRIEVE_TRANSPORT: `sqlite:${join(cwd, 'events.db')}`, REPRIEVE_STORE: store }
    expect(lines[0]).toMatch(/^export REPRIEVE_TRANSPORT=\S+ REPRIEVE_STORE=postgres:\S+$/)
    const said: string[] = []
    for (const line of lines.slice(1)) {
      const args = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!)
      const { code, stdout, stderr } = await cli(args.slice(1), { cwd, env })
      expect([line, code, stderr]).toEqual([line, 0, expect.any(String)])
      said.push(stdout)
    }
    expect(said[1]).toContain('f00d')
    expect(said[2]).toMatch(/no such address/)
    expect(said.at(-1)).toMatch(/^intact, 1 entry|^intact, 1 entries/)
  })

  it('names every table that is made', async () => {
    const store = ownSchema(url)
    const app = await reprieve({ transport: store })
    await app.start()
    await app.office.open([{ name: 'dead' }])
    await app.close()
    const schema = new URL(store).searchParams.get('schema')
    const rows = await plainly(store, `SELECT tablename FROM pg_tables WHERE schemaname = '${schema}'`)
    const [, table] = /^\| tables \|[\s\S]*?\n((?:\|.*\n)+)/m.exec(page)!
    const named = [...table!.matchAll(/^\|([^|]+)\|/gm)].flatMap(([, cell]) =>
      [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    )
    expect(named.sort()).toEqual(rows.map(({ tablename }) => tablename).sort())
  })
})
