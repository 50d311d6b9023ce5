import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Permanent, reprieve } from '../../src/index.ts'
import { testApp } from '../../src/testing/index.ts'
import { cli, folderWith } from './child.ts'
import { someLetters } from './letters.ts'

const SERVICE = 'stock-svc'
const TYPE = 'stock.moved'
const HELD = `version: 1\nservices: { ${SERVICE}: { order: key, afterDeath: hold } }\n`

describe('letters that were dealt with elsewhere', () => {
  it('are resolved with a reason, let their followers go in order, and the audit has it', async () => {
    await using app = await testApp({ yaml: HELD })
    const done: string[] = []
    app.service(SERVICE).on(TYPE, ({ id }) => {
      if (id.endsWith('-1')) throw new Permanent('no such shelf')
      done.push(id)
    })
    for (const id of ['a-1', 'a-2', 'a-3', 'b-1', 'b-2'])
      await app.publish(TYPE, {}, { id, orderKey: id.slice(0, 1) })
    await app.settled()
    expect(done).toEqual([])
    const { office, audit } = app
    const [a] = await office
      .list({ states: ['open'] }, 9)
      .then((all) => all.filter(({ letter }) => letter.event.id === 'a-1'))
    const ids = [a!.letter.id, 'nobody']
    for (const reason of [undefined, ' '])
      await expect(office.resolve(ids, { ...(reason && { reason }) })).rejects.toMatchObject({
        code: 'bad_usage',
        message: expect.stringContaining('to resolve letters by hand needs a reason'),
      })
    const result = await office.resolve(ids, { as: 'ann', reason: 'counted by hand' })
    expect(result).toEqual({
      resolved: [a!.letter.id],
      skipped: [{ id: 'nobody', because: 'no letter has this id' }],
      freed: 2,
    })
    await app.settled()
    expect(done).toEqual(['a-2', 'a-3'])
    expect((await office.show(a!.letter.id)).state).toBe('resolved')
    const [entry] = await audit.list({ act: 'resolve' })
    expect(entry).toMatchObject({ who: 'ann', count: 1, reason: 'counted by hand' })
    // by group: what is resolved already is not chosen
    const [group] = await office.groups()
    const rest = await office.resolve({ fingerprint: group!.fingerprint }, { reason: 'the others too' })
    expect(rest).toMatchObject({ resolved: [expect.anything()], skipped: [], freed: 1 })
    await app.settled()
    expect(done).toEqual(['a-2', 'a-3', 'b-2'])
    expect(await office.groups()).toEqual([])
    expect(await office.replay({})).toEqual({ sent: [], skipped: [] })
    expect((await audit.verify()).broken).toBeUndefined()
  })

  it('may be in quarantine or dead again, but not on their way', async () => {
    await using app = await testApp()
    app.service(SERVICE).on(TYPE, () => {
      throw new Permanent('no')
    })
    await app.publish(TYPE, {})
    await app.settled()
    const { office } = app
    const [first] = await office.list({}, 1)
    await office.replay({ ids: [first!.letter.id] })
    expect(await office.resolve([first!.letter.id], { reason: 'x' })).toMatchObject({
      resolved: [],
      skipped: [{ because: 'it is replaying' }],
    })
    await app.settled()
    await app.clock.advance(2000)
    expect((await office.show(first!.letter.id)).state).toBe('dead again')
    expect((await office.resolve({ service: SERVICE }, { reason: 'x' })).resolved).toHaveLength(2)
    expect(await office.count({ states: ['resolved'] })).toBe(2)
  })
})

it('dlq resolve, edit and approve do so from the command line', async () => {
  const cwd = folderWith({ 'reprieve.yaml': 'version: 1\noperations: { approval: always }\n' })
  const app = await reprieve({ transport: `sqlite:${join(cwd, 'reprieve.db')}` })
  const [one, two] = someLetters(2)
  await app.store.letters.keep([one!, two!])
  await app.close()
  const dlq = (...args: string[]) => cli(['dlq', ...args], { cwd })
  expect(await dlq('resolve', one!.id)).toMatchObject({ code: 2, stderr: expect.stringContaining('reason') })
  expect(await dlq('resolve', one!.id, '--reason', 'by hand')).toEqual({
    ...{ code: 0, stdout: '1 resolved\n', stderr: '' },
  })
  expect(await dlq('edit', two!.id, '--set', '$.a=1')).toMatchObject({
    ...{ code: 0, stdout: expect.stringMatching(/^1 repaired/) },
  })
  const planned = await dlq('replay', '--service', 'mail-svc', '--as', 'ann', '--json')
  const { id, hash } = JSON.parse(planned.stdout).operation
  expect(await dlq('approve', id, '--as', 'bob', '--hash', hash.slice(0, 12))).toMatchObject({
    ...{ code: 0, stdout: `${id} is approved\n` },
  })
})
