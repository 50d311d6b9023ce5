import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Permanent, reprieve } from '../../src/index.ts'
import { cli, folderWith } from '../scenarios/child.ts'
import { describeWith } from '../services/urls.ts'
import { ownSchema } from '../stores/postgres.ts'
import { until } from '../until.ts'

const COUNT = 60

const race = (storeIn: (folder: string) => string): void => {
  it('two replays and a purge of the same filter have each letter once, and nobody waits for ever', async () => {
    const cwd = folderWith()
    const transport = `sqlite:${join(cwd, 'app.db')}`
    const store = storeIn(cwd)
    const service = `race-${randomUUID().slice(0, 8)}`
    const app = await reprieve({ transport, store, office: false })
    const handled: string[] = []
    let mended = false
    app.service(service).on('task.created', ({ id }) => {
      if (!mended) throw new Permanent('no such box')
      handled.push(id)
    })
    await app.start()
    try {
      const ids = Array.from({ length: COUNT }, (_, n) => `e-${n}`)
      await Promise.all(ids.map((id) => app.publish('task.created', {}, { id })))
      await until('all letters', async () => {
        await app.office.catchUp(app.destinations(), new AbortController().signal)
        return (await app.office.count({ service })) === COUNT
      })
      mended = true
      const kept = new Map(
        (await app.office.list({}, COUNT)).map(({ letter }) => [letter.id, letter.event.id]),
      )

      const at = ['--service', service, '--batch', '3', '--transport', transport, '--store', store]
      const ended = await Promise.all([
        cli(['dlq', 'replay', ...at, '--wait', '4m', '--as', 'ann'], { cwd }),
        cli(['dlq', 'replay', ...at, '--wait', '4m', '--as', 'bob'], { cwd }),
        cli(['dlq', 'purge', ...at, '--reason', 'old', '--as', 'carol'], { cwd }),
      ])
      const said = ended.map(({ stdout, stderr }) => stdout + stderr).join('\n')
      for (const { code } of ended) expect([0, 1], said).toContain(code)

      const operations = await app.office.operations.list()
      expect(operations.map(({ operation }) => operation.by).sort(), said).toEqual(['ann', 'bob', 'carol'])
      const items = await Promise.all(
        operations.map(({ operation }) => app.office.operations.items(operation.id, { limit: 1000 })),
      )
      const worked = items.flat().filter(({ state }) => state !== 'skipped')
      expect(worked.map(({ letter }) => letter).sort()).toEqual([...kept.keys()].sort())
      expect(worked.every(({ state }) => state === 'resolved' || state === 'purged')).toBe(true)
      const sent = worked.filter(({ state }) => state === 'resolved').map(({ letter }) => kept.get(letter)!)
      expect([...handled].sort()).toEqual(sent.sort())
      expect(await app.office.count({})).toBe(sent.length)
      const told = (await app.audit.list({}, 1000)).filter(({ act }) => act === 'replay' || act === 'purge')
      expect(told.reduce((sum, { count }) => sum + count, 0)).toBe(COUNT)
      expect((await app.audit.verify()).broken).toBeUndefined()
    } finally {
      await app.close()
    }
  })
}

describe('operators in processes of their own, on one SQLite file', () => {
  race((folder) => `sqlite:${join(folder, 'app.db')}`)
})

describeWith('postgres', 'operators in processes of their own, on one PostgreSQL', (url) => {
  race(() => ownSchema(url))
})
