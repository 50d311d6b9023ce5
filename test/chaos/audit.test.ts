import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Reprieve, reprieve } from '../../src/index.ts'
import { folderWith, startNode } from '../scenarios/child.ts'
import { someLetters } from '../scenarios/letters.ts'
import { describeWith } from '../services/urls.ts'
import { ownSchema } from '../stores/postgres.ts'

/** So often two that were not at it at the same time begin anew. */
const MOST_ROUNDS = 5
const WORKER = fileURLToPath(new URL('./audit-worker.ts', import.meta.url))

const world = async (store?: string) => {
  const cwd = folderWith()
  const transport = `sqlite:${join(cwd, 'reprieve.db')}`
  const app = await reprieve({ transport, ...(store !== undefined && { store }) })
  const worker = async (as: string, letters: number) => {
    await app.store.letters.keep(someLetters(letters, as))
    return startNode([WORKER, transport, as, as, ...(store === undefined ? [] : [store])], { cwd })
  }
  return { app, worker }
}

/** What took effect and what the audit tells must be the same, each way. */
const accounted = async (app: Reprieve): Promise<number> => {
  const entries = await app.audit.list({}, 100_000)
  const told = (act: string) => entries.filter((entry) => entry.act === act)
  const discarded = await app.store.letters.find({ states: ['discarded'] }, 100_000)
  expect(
    told('discard')
      .flatMap(({ details }) => details.ids as string[])
      .sort(),
  ).toEqual(discarded.map(({ letter }) => letter.id).sort())
  expect(told('discard').every(({ count, details }) => count === (details.ids as string[]).length)).toBe(true)
  expect(
    told('pause')
      .map(({ target }) => target)
      .sort(),
  ).toEqual((await app.hand.paused()).map(({ service }) => service).sort())
  const verified = await app.audit.verify()
  expect(verified).toEqual({ count: entries.length, head: entries[0]?.hash })
  return entries.length
}

/** How long it goes on is told, for one store commits much faster than another. */
const suite = (store: () => string | undefined, rounds: number, letters: number): void => {
  it('has every act that took effect, and no other, of a process killed at any moment', async () => {
    const { app, worker } = await world(store())
    await app.hand.pause('go')
    let before = 1
    for (let round = 0; round < rounds; round++) {
      const victim = await worker(`victim-${round}`, 900)
      await victim.said('ready')
      const enough = before + 2 + round * 3
      await expect
        .poll(async () => (await app.audit.list({}, 1))[0]?.seq ?? 0, { interval: 1 })
        .toBeGreaterThan(enough)
      victim.signal('SIGKILL')
      expect((await victim.ended).code).toBeNull()
      const count = await accounted(app)
      expect(count).toBeGreaterThan(enough)
      before = count
    }
    await app.close()
  })

  /** Answers how often it was another's turn. */
  const twoAppend = async (): Promise<number> => {
    const { app, worker } = await world(store())
    const both = await Promise.all([worker('one', letters), worker('two', letters)])
    await Promise.all(both.map(({ said }) => said('ready')))
    await app.hand.pause('go')
    const all = Promise.all(both.map(({ ended }) => ended))
    let over = false
    void all.then(() => {
      over = true
    })
    // whoever looks in the middle of it finds nothing wrong
    for (let looks = 0; !over || looks === 0; looks++) {
      expect((await app.audit.verify()).broken).toBeUndefined()
      await pause(5)
    }
    expect((await all).map(({ code }) => code)).toEqual([0, 0])
    expect(await accounted(app)).toBe((letters / 3) * 4 + 1)
    const names = (await app.audit.list({}, 2000)).map(({ who }) => who)
    await app.close()
    return names.filter((name, i) => name !== names[i - 1]).length
  }

  it('stays one chain while two processes append to it at the same time', async () => {
    // one after the other they have their turns after whoever said go, three in all: on a busy machine one may be through
    // before the other has heard it, and that shows nothing
    let turns = 0
    for (let round = 0; round < MOST_ROUNDS && turns <= 3; round++) turns = await twoAppend()
    expect(turns).toBeGreaterThan(3)
  })
}

describe('the audit', () => suite(() => undefined, 8, 900))
describeWith('postgres', 'the audit in PostgreSQL', (url) => suite(() => ownSchema(url), 3, 90))
