import assert from 'node:assert/strict'
import type { Ledger } from '../../contracts/ledger.ts'
import type { Claim, Ending, Held, LedgerKey } from '../../core/ledger.ts'
import type { Trial, TrialWorld } from './trial.ts'

const HOLD = 60_000
const TTL = 3_600_000

interface Bench {
  readonly ledger: Ledger
  readonly key: LedgerKey
  /** Claims one key, for a minute. */
  claim(key: LedgerKey): Promise<Claim>
  /** Claims it and answers what is held; fails unless it was fresh. */
  hold(key: LedgerKey): Promise<Held>
  finish(held: Held, as: Ending): Promise<boolean | undefined>
}

const bench = async (world: TrialWorld): Promise<Bench> => {
  const ledger = (await world.open()).store!.ledger
  const claim = async (key: LedgerKey) => (await ledger.claim([key], world.now() + HOLD))[0]!
  return {
    ledger,
    key: { service: world.name('service'), id: 'e-1', hash: 'h-1', attempt: 1, generation: 0, ttl: TTL },
    claim,
    hold: async (key) => {
      const claimed = await claim(key)
      assert.equal(claimed.is, 'fresh')
      return (claimed as Extract<Claim, { is: 'fresh' }>).held
    },
    finish: async (held, as) => (await ledger.finish([{ held, as }]))[0],
  }
}

const trial = (name: string, run: (bench: Bench, world: TrialWorld) => Promise<void>): Trial => ({
  name: `ledger: ${name}`,
  about: 'ledger',
  run: async (world) => run(await bench(world), world),
})

/** `then` on a row that was claimed with `first` and ended so (null: still claimed). */
const row = (
  name: string,
  first: Partial<LedgerKey>,
  ended: Ending | null,
  then: Partial<LedgerKey>,
  answer: Claim['is'],
): Trial =>
  trial(name, async ({ key, claim, hold, finish }) => {
    const held = await hold({ ...key, ...first })
    if (ended) assert.equal(await finish(held, ended), true)
    const claimed = await claim({ ...key, ...then })
    assert.equal(claimed.is, answer)
    if (claimed.is === 'fresh') assert.ok(claimed.held.token > held.token, 'the token did not grow')
  })

/** As a key whose payload was repaired has it. */
const REPAIRED = '*'

export const ledgerTrials: readonly Trial[] = [
  row('a repaired payload is fresh in a new life', {}, 'dead', { generation: 1, hash: REPAIRED }, 'fresh'),
  row('a repaired payload is not run again once done', {}, 'done', { generation: 1, hash: REPAIRED }, 'done'),
  row('a repaired payload of a life that is dead is stale', {}, 'dead', { hash: REPAIRED }, 'stale'),
  row('a double of a repaired payload is busy', { hash: REPAIRED }, null, { hash: REPAIRED }, 'busy'),
  row('the original meets what was done repaired', { hash: REPAIRED }, 'done', {}, 'done'),
  trial('after a repaired life another payload is still a conflict', async ({ key, claim, hold, finish }) => {
    await finish(await hold(key), 'dead')
    await finish(await hold({ ...key, generation: 1, hash: REPAIRED }), 'dead')
    assert.equal((await claim({ ...key, generation: 2, hash: 'h-2' })).is, 'conflict')
    assert.equal((await claim({ ...key, generation: 2 })).is, 'fresh')
  }),

  trial('an unknown key is fresh', async ({ key, claim }) => {
    const claimed = await claim(key)
    assert.equal(claimed.is, 'fresh')
    if (claimed.is !== 'fresh') return
    assert.equal(claimed.crashes, 0)
    assert.deepEqual(claimed.held.key, key)
    assert.ok(claimed.held.token > 0)
  }),
  row('another payload is a conflict, while claimed', {}, null, { hash: 'h-2' }, 'conflict'),
  row('another payload is a conflict, after done too', {}, 'done', { hash: 'h-2' }, 'conflict'),
  row('done stays done', {}, 'done', {}, 'done'),
  row('done stays done for a replay', {}, 'done', { generation: 1 }, 'done'),
  row('done stays done for a later attempt', {}, 'done', { attempt: 2 }, 'done'),
  row('a newer life is fresh after death', {}, 'dead', { generation: 1 }, 'fresh'),
  row('a newer life is fresh while the older is claimed', {}, null, { generation: 1 }, 'fresh'),
  row('an older life is stale', { generation: 2 }, null, { generation: 1 }, 'stale'),
  row('dead is stale in the same life', {}, 'dead', {}, 'stale'),
  row('dead is stale for a later attempt of the same life', {}, 'dead', { attempt: 2 }, 'stale'),
  row('a spent attempt is stale', {}, 'spent', {}, 'stale'),
  row('an attempt before the last spent is stale', { attempt: 3 }, 'spent', { attempt: 2 }, 'stale'),
  row('the attempt after the last spent is fresh', {}, 'spent', { attempt: 2 }, 'fresh'),
  row('a freed attempt is fresh again', {}, 'free', {}, 'fresh'),
  row('before a freed attempt all are stale', { attempt: 3 }, 'free', { attempt: 2 }, 'stale'),
  row('an older attempt is stale while a newer is claimed', { attempt: 2 }, null, { attempt: 1 }, 'stale'),
  row('a newer attempt takes over a claimed older one', {}, null, { attempt: 2 }, 'fresh'),

  trial('the same attempt is busy, and says until when', async ({ ledger, key, claim }, world) => {
    const until = world.now() + HOLD
    await ledger.claim([key], until)
    assert.deepEqual(await claim(key), { is: 'busy', until })
  }),

  trial('a claim whose time is over is fresh with one more crash', async ({ ledger, key }, world) => {
    const crashes: unknown[] = []
    let token = 0
    for (let round = 0; round < 3; round++) {
      const [claimed] = await ledger.claim([key], world.now() + 200)
      assert.equal(claimed?.is, 'fresh')
      if (claimed?.is !== 'fresh') return
      crashes.push(claimed.crashes)
      assert.ok(claimed.held.token > token, 'the token did not grow')
      token = claimed.held.token
      await world.wait(250)
    }
    assert.deepEqual(crashes, [0, 1, 1], 'a suspect that was not begun died of another')
  }),

  trial(
    'a suspect that was begun counts one more crash, one that waited does not',
    async ({ ledger, key }, world) => {
      const crashes: unknown[] = []
      for (const begun of [false, true, false, true, false]) {
        const [claimed] = await ledger.claim([key], world.now() + 200)
        if (claimed?.is !== 'fresh') throw new Error('not fresh')
        crashes.push(claimed.crashes)
        if (begun) assert.equal(await ledger.begin(claimed.held), true)
        await world.wait(250)
      }
      assert.deepEqual(crashes, [0, 1, 2, 2, 3])
    },
  ),

  trial(
    'a suspect that is freed stays one; whoever came to an end is cleared',
    async ({ ledger, key, finish }, world) => {
      const claim = async () => {
        const [claimed] = await ledger.claim([key], world.now() + 200)
        if (claimed?.is !== 'fresh') throw new Error('not fresh')
        return claimed
      }
      await claim()
      await world.wait(250)
      assert.equal(await finish((await claim()).held, 'free'), true)
      const { held, crashes } = await claim()
      assert.equal(crashes, 1)
      assert.equal(await ledger.begin(held), true)
      assert.equal(await finish(held, 'free'), true)
      const again = await claim()
      assert.equal(again.crashes, 1)
      assert.equal(await finish(again.held, 'spent'), true)
      const [next] = await ledger.claim([{ ...key, attempt: key.attempt + 1 }], world.now() + 200)
      assert.equal(next?.is === 'fresh' && next.crashes, 0)
    },
  ),

  trial('who is no longer the holder begins nothing', async ({ ledger, key }, world) => {
    const [first] = await ledger.claim([key], world.now() + 200)
    await world.wait(250)
    const [second] = await ledger.claim([key], world.now() + 200)
    if (first?.is !== 'fresh' || second?.is !== 'fresh') throw new Error('not fresh')
    assert.equal(await ledger.begin(first.held), false)
    assert.equal(await ledger.begin({ key: { ...key, id: 'unknown' }, token: 1 }), false)
    await world.wait(250)
    const [third] = await ledger.claim([key], world.now() + 200)
    assert.deepEqual(third?.is === 'fresh' && third.crashes, 1)
    assert.equal(await ledger.begin(second.held), false)
  }),

  trial(
    'a holder that was taken for dead and comes back takes its crash back, once',
    async ({ ledger, key, finish }, world) => {
      const claim = async () => {
        const [claimed] = await ledger.claim([key], world.now() + 200)
        if (claimed?.is !== 'fresh') throw new Error('not fresh')
        return claimed
      }
      const [lapsed, unknown] = [await claim(), { key: { ...key, id: 'unknown' }, token: 1 }]
      assert.deepEqual(await ledger.acquit([lapsed.held, unknown]), [false, false], 'nothing was counted')
      await world.wait(250)
      const second = await claim()
      assert.equal(second.crashes, 1)
      assert.equal(await ledger.begin(second.held), true)
      await world.wait(250)
      assert.equal((await claim()).crashes, 2)
      assert.deepEqual(await ledger.acquit([second.held]), [true])
      assert.deepEqual(await ledger.acquit([lapsed.held]), [true])
      assert.deepEqual(await ledger.acquit([lapsed.held]), [false], 'it is beyond suspicion')
      await world.wait(250)
      const last = await claim()
      assert.equal(last.crashes, 1)
      assert.equal(await finish(last.held, 'done'), true)
      assert.deepEqual(await ledger.acquit([second.held]), [false], 'it has come to its end')
    },
  ),

  trial('a finished claim is no crash', async ({ key, hold, finish, claim }) => {
    await finish(await hold(key), 'free')
    const claimed = await claim(key)
    assert.deepEqual(claimed.is === 'fresh' && claimed.crashes, 0)
  }),

  trial('a stale holder changes nothing', async ({ ledger, key, hold, finish, claim }, world) => {
    const [first] = await ledger.claim([key], world.now() + 200)
    assert.equal(first?.is, 'fresh')
    if (first?.is !== 'fresh') return
    await world.wait(250)
    const second = await hold(key)
    for (const as of ['done', 'dead', 'spent', 'free'] as const) {
      assert.equal(await finish(first.held, as), false, as)
    }
    assert.equal((await claim(key)).is, 'busy')
    assert.equal(await finish(second, 'done'), true)
    assert.equal((await claim(key)).is, 'done')
  }),

  trial('finishing twice is false the second time', async ({ key, hold, finish, claim }) => {
    const held = await hold(key)
    assert.equal(await finish(held, 'done'), true)
    assert.equal(await finish(held, 'free'), false)
    assert.equal((await claim(key)).is, 'done')
  }),

  trial('finishing what was never claimed is false', async ({ key, finish }) => {
    assert.equal(await finish({ key, token: 1 }, 'done'), false)
  }),

  trial('renew keeps a claim beyond its time', async ({ ledger, key, claim, finish }, world) => {
    const [claimed] = await ledger.claim([key], world.now() + 200)
    if (claimed?.is !== 'fresh') throw new Error('not fresh')
    await ledger.renew([claimed.held], world.now() + HOLD)
    await world.wait(250)
    assert.equal((await claim(key)).is, 'busy')
    assert.equal(await finish(claimed.held, 'done'), true)
  }),

  trial('renew by a stale holder keeps nothing', async ({ ledger, key }, world) => {
    const [first] = await ledger.claim([key], world.now() + 100)
    await world.wait(150)
    await ledger.claim([key], world.now() + 200)
    if (first?.is !== 'fresh') throw new Error('not fresh')
    await ledger.renew([first.held], world.now() + HOLD)
    await world.wait(250)
    assert.equal((await ledger.claim([key], world.now() + 200))[0]?.is, 'fresh')
  }),

  trial('after its time to live it is forgotten', async ({ key, hold, finish, claim }, world) => {
    for (const as of ['done', 'dead', 'spent'] as const) {
      const short = { ...key, id: as, ttl: 300 }
      await finish(await hold(short), as)
      assert.notEqual((await claim(short)).is, 'fresh')
      await world.wait(350)
      assert.equal((await claim({ ...short, hash: 'other' })).is, 'fresh', as)
    }
  }),

  trial(
    'many keys at once are answered in order, a key given twice is busy',
    async ({ ledger, key }, world) => {
      const keys = ['a', 'b', 'a', 'c'].map((id) => ({ ...key, id }))
      const claims = await ledger.claim(keys, world.now() + HOLD)
      assert.deepEqual(
        claims.map(({ is }) => is),
        ['fresh', 'fresh', 'busy', 'fresh'],
      )
      const held = claims.flatMap((claim) => (claim.is === 'fresh' ? [claim.held] : []))
      const stale = { ...held[0]!, token: held[0]!.token + 7 }
      const ends = [held[1]!, stale, held[2]!].map((each) => ({ held: each, as: 'done' as const }))
      assert.deepEqual(await ledger.finish(ends), [true, false, true])
      assert.deepEqual(await ledger.claim([], world.now()), [])
      assert.deepEqual(await ledger.finish([]), [])
    },
  ),

  trial('services do not disturb each other', async ({ key, hold, finish, claim }, world) => {
    await finish(await hold(key), 'done')
    assert.equal((await claim({ ...key, service: world.name('service') })).is, 'fresh')
  }),

  trial('of many that claim at once one gets it', async ({ key, claim }, world) => {
    const other = await bench(world)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => (n % 2 ? claim(key) : other.claim(key))),
    )
    assert.equal(answers.filter(({ is }) => is === 'fresh').length, 1)
    assert.equal(answers.filter(({ is }) => is === 'busy').length, 9)
  }),

  trial('another process sees what was finished', async ({ key, hold, finish }, world) => {
    await finish(await hold(key), 'done')
    assert.equal((await (await bench(world)).claim(key)).is, 'done')
  }),
]
