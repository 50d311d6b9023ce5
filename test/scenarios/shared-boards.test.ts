import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import type { Board } from '../../src/contracts/board.ts'
import { openStore } from '../../src/open.ts'
import { describeWith } from '../services/urls.ts'
import { describeOwn, type OwnServer, ownPostgres, ownRedis } from '../stores/own-server.ts'
import { type Process, severalProcesses } from './several.ts'

const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
const eventually = { timeout: 100_000, interval: 50 }
const CRM = 'breaker: { failures: 3, open: 3s, probes: 1, successes: 1 }'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** So many processes in real time, each with a connection of its own to the board. */
const processes = async (count: number, url: string) => {
  const boards: Board[] = []
  for (let n = 0; n < count; n++) {
    const store = await openStore(url, tools)
    closing.push(async () => {
      await store.companion?.close()
      await store.close()
    })
    boards.push(store.board)
  }
  const several = await severalProcesses(count, { crm: CRM, board: () => boards.shift()! }, tools)
  for (const { app } of several.all) {
    await app.start()
    closing.push(() => app.drain(1000))
  }
  await expect
    .poll(
      async () => (await several.hand.breakers()).filter(({ report }) => report?.quorum === 2),
      eventually,
    )
    .toHaveLength(count)
  return several
}

const fails = async (process: Process): Promise<void> => {
  process.up = false
  await process.send(3)
}

const share = (urlOf: () => string): void => {
  it('one bad process of three opens only itself, two open all, one probe over all, and its success closes all', async () => {
    const { all, at, last, total } = await processes(3, urlOf())
    const [first, second, third] = all
    await fails(first!)
    await expect.poll(last, eventually).toEqual(['open', undefined, undefined])
    await third!.send(20)
    await expect.poll(() => third!.done(), eventually).toBe(20)
    await systemClock.sleep(1500)
    expect([second!.states(), third!.states()]).toEqual([[], []])

    await fails(second!)
    await expect.poll(() => third!.states()[0], eventually).toBe('open')
    third!.up = false
    for (const each of all) each.took = 300
    await third!.send(5)
    at.most = 0
    const before = total()
    await systemClock.sleep(9000)
    expect(at.most).toBe(1)
    expect(total() - before).toBeGreaterThanOrEqual(1)
    expect(total() - before).toBeLessThanOrEqual(4)

    for (const each of all) each.up = true
    await expect.poll(last, eventually).toEqual(['closed', 'closed', 'closed'])
    await expect.poll(() => all.map(({ done }) => done()), eventually).toEqual([3, 3, 25])
  })
}

describe('on one SQLite file', () => {
  share(() => {
    const folder = mkdtempSync(join(tmpdir(), 'reprieve-boards-'))
    closing.push(async () => rmSync(folder, { recursive: true, force: true }))
    return `sqlite:${join(folder, 'board.db')}`
  })
})

describeWith('redis', 'on Redis', (url) => {
  share(() => withParam(url, 'prefix', `boards-${randomUUID()}`))
})

describeWith('postgres', 'on PostgreSQL', (url) => {
  const schema = `boards_${randomUUID().replaceAll('-', '')}`
  share(() => {
    closing.push(async () => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
      await client.end()
    })
    return withParam(url, 'schema', schema)
  })
})

const withParam = (url: string, name: string, value: string): string => {
  const at = new URL(url)
  at.searchParams.set(name, value)
  return at.href
}

for (const [service, title, own] of [
  ['redis', 'Redis', ownRedis],
  ['postgres', 'PostgreSQL', ownPostgres],
] as const) {
  describeOwn(service, `a board in a ${title} that is killed`, () => {
    let server: OwnServer
    beforeAll(async () => {
      server = await own()
      return () => server.close()
    })

    it('leaves each process to its own evidence, blocks no call, and is shared again when it is back', async () => {
      const { all, last } = await processes(3, server.url)
      const [first, second, third] = all
      await server.kill()
      await Promise.all([fails(first!), fails(second!)])
      await expect.poll(last, eventually).toEqual(['open', 'open', undefined])
      const began = performance.now()
      await third!.send(50)
      await expect.poll(() => third!.done(), eventually).toBe(50)
      // less than one question to a board that is gone takes
      expect(performance.now() - began).toBeLessThan(9000)
      // both probe by themselves, fail, and open again
      const before = first!.calls + second!.calls
      await expect.poll(() => first!.calls + second!.calls, eventually).toBeGreaterThanOrEqual(before + 2)
      expect(third!.states()).toEqual([])
      expect(third!.only('trouble').length).toBeLessThanOrEqual(1)

      await server.start()
      // it has no failures of its own; what it hears first may be a probe of others, or be over in a moment
      await expect.poll(() => third!.states(), eventually).toContain('open')
      for (const each of all) each.up = true
      await expect.poll(last, eventually).toEqual(['closed', 'closed', 'closed'])
      await expect.poll(() => all.map(({ done }) => done()), eventually).toEqual([3, 3, 50])
    })
  })
}
