import { describe, expect, it } from 'vitest'
import { ReprieveError } from '../../src/index.ts'
import { testApp } from '../../src/testing/index.ts'

type TestApp = Awaited<ReturnType<typeof testApp>>
/** As whoever has no types calls it. */
// biome-ignore lint/suspicious/noExplicitAny: what is tested is that anything may come
type Loose = any

const refusal = async (call: () => unknown): Promise<ReprieveError> => {
  try {
    await call()
  } catch (error) {
    expect(error).toBeInstanceOf(ReprieveError)
    return error as ReprieveError
  }
  throw new Error('it was taken')
}

const EVENT = { id: 'e', source: 's', type: 'a.b', extensions: {}, headers: {}, data: null }

describe('what a caller hands over wrongly is told by what, where and how to mend it', () => {
  const cases: readonly [string, (app: Loose) => unknown, RegExp, RegExp][] = [
    ['publish', (app) => app.publish('a.b', {}, null), /publish\('a\.b', …\): found null/, /orderKey/],
    ['publish', (app) => app.publish('a.b', {}, 'key'), /found "key" for the options/, /orderKey/],
    ['publish', (app) => app.publish('a.b', {}, { orderKey: 5 }), /found 5 for 'orderKey'/, /'customer-7'/],
    ['publish', (app) => app.publish('a.b', {}, { orderkey: 'a' }), /no 'orderkey'/, /mean 'orderKey'/],
    ['publish', (app) => app.publish('a.b', {}, { id: {} }), /found an object for 'id'/, /a text|like id/],
    ['publish', (app) => app.publish('a.b', {}, { headers: [1] }), /a list of 1 for 'headers'/, /tenant/],
    ['publish', (app) => app.publish('a.b', {}, { priority: 9 }), /priority '9' is none of/, /^$/],
    ['publish', (app) => app.publish(undefined, {}), /can't be the type/, /todo\.task\.created/],
    ['publishEvents', (app) => app.publishEvents({}), /found an object for the events/, /use publish/],
    ['publishEvents', (app) => app.publishEvents([EVENT, null]), /found null for event 1/, /source/],
    ['publishEvents', (app) => app.publishEvents([{ ...EVENT, headers: undefined }]), /headers/, /^$/],
    ['publishEvents', (app) => app.publishEvents([{ ...EVENT, extensions: 5 }]), /extensions/, /^$/],
    ['publishEvents', (app) => app.publishEvents([{ ...EVENT, data: 'text' }]), /data/, /^$/],
    ['publishEvents', (app) => app.publishEvents([{ ...EVENT, subject: 5 }]), /subject/, /^$/],
    ['service', (app) => app.service(null), /"null" can't name a service/, /letters, digits/],
    ['on', (app) => app.service('late').on(5, () => {}), /'5', …\): the pattern is no text/, /todo\./],
    ['on', (app) => app.service('late').on('a.b'), /was given no function/, /handler\)/],
    ['on', (app) => app.service('late').on('a.b', null, () => {}), /no Standard Schema/, /zod/],
    [
      'on',
      (app) => app.service('late').on('a.b', {}, {}, () => {}),
      /was given 4 arguments/,
      /schema, handler/,
    ],
    ['every', (app) => app.every('1m', 5, () => {}), /found 5 for the name/, /'cleanup'/],
    ['every', (app) => app.every('1m', 'x', 'y'), /found "y" for the job/, /=>/],
    [
      'list',
      (app) => app.office.list({ service: 5 }),
      /office\.list\(\): found 5 for 'service'/,
      /'mail-svc'/,
    ],
    ['list', (app) => app.office.list({ servce: 'a' }), /it knows no 'servce'/, /mean 'service'/],
    ['list', (app) => app.office.list({ colour: 'a' }), /it knows no 'colour'/, /use service, ids/],
    ['list', (app) => app.office.list({ from: new Date() }), /found a Date for 'from'/, /Date\.parse/],
    ['list', (app) => app.office.list({ states: 'open' }), /found "open" for 'states'/, /\['open'\]/],
    ['list', (app) => app.office.list({}, '5'), /found "5" for the limit/, /50/],
    ['count', (app) => app.office.count(), /found undefined for the filter/, /mail-svc/],
    ['find', (app) => app.office.find({}, null), /found null for the options/, /limit: 50/],
    ['find', (app) => app.office.find({}, { limit: 1.5 }), /found 1\.5 for 'limit'/, /50/],
    ['show', (app) => app.office.show(), /found undefined for the id/, /dlq list/],
    ['replay', (app) => app.office.replay(null), /found null for the filter/, /mail-svc/],
    ['replay', (app) => app.office.replay({}, { as: 5 }), /found 5 for 'as'/, /'ann'/],
    ['replay', (app) => app.office.replay({}, { although: 'expired' }), /"expired" for 'although'/, /\['/],
    ['discard', (app) => app.office.discard('l-1'), /office\.discard\(\): found "l-1" for the filter/, /\{/],
    ['discard', (app) => app.office.discard([5]), /a list of 5 for the letters/, /\['/],
    ['discard', (app) => app.office.discard({ service: 'a' }, { reason: 5 }), /5 for 'reason'/, /reason: '/],
    ['release', (app) => app.office.release([], null), /found null for the options/, /as: 'ann'/],
    ['repair', (app) => app.office.repair([], null), /found null for the change/, /set/],
    ['repair', (app) => app.office.repair([], { unset: '$.a' }), /"\$\.a" for 'unset'/, /\['/],
    ['repair', (app) => app.office.repair([], { rename: { a: 5 } }), /for 'rename', expected/, /\$\.to/],
    ['undo', (app) => app.office.undo('l', 'x'), /found "x" for the version/, /1/],
    ['tend', (app) => app.office.tend('f', null), /found null for what is said/, /owner/],
    ['group', (app) => app.office.group(5), /found 5 for the fingerprint/, /dlq groups/],
    ['lives', (app) => app.office.lives('l-1'), /found "l-1" for the letter/, /office\.show/],
    ['importLines', (app) => app.office.importLines(['x']), /texts for the lines/, /=>/],
    [
      'exportLines',
      (app) => app.office.exportLines({ service: 5 }).next(),
      /exportLines\(\): found 5/,
      /mail/,
    ],
    ['plan', (app) => app.office.operations.plan({}, { kind: 'x' }), /"x" for 'kind'/, /'replay'/],
    ['plan', (app) => app.office.operations.plan({}, { canary: null }), /canary/, /canary: 10/],
    ['plan', (app) => app.office.operations.plan({}, { to: 5 }), /'to'/, /service/],
    ['start', (app) => app.office.operations.start(5), /operations\.start\(\): found 5 for the id/, /dlq/],
    ['items', (app) => app.office.operations.items('x', { states: ['x'] }), /for 'states'/, /waiting/],
    ['pause', (app) => app.hand.pause(5), /hand\.pause\(\): found 5 for the service/, /mail-svc/],
    ['pause', (app) => app.hand.pause('a', { lasts: '1h' }), /found "1h" for 'lasts'/, /60_000/],
    ['breaker', (app) => app.hand.breaker('smtp', 'shut'), /found "shut" for the order/, /'open'/],
    ['audit', (app) => app.audit.list({ from: 'monday' }), /found "monday" for 'from'/, /Date\.parse/],
    ['audit', (app) => app.audit.verify({ head: 5 }), /found 5 for 'head'/, /64 digits/],
  ]

  it.each(cases)('%s: case %#', async (_, call, what, fix) => {
    await using app = await testApp()
    app.service('mail').on('a.b', () => {})
    const refused = await refusal(() => call(app))
    expect(refused.message).toMatch(what)
    expect(refused.fix ?? '').toMatch(fix)
  })

  it('in a handler, too', async () => {
    await using app: TestApp = await testApp({ yaml: 'version: 1\ndefaults: { policy: none }' })
    app.service('mail').on('a.b', async (_, ctx) => void (await ctx.publish('c.d', {}, null as Loose)))
    await app.publish('a.b', {})
    await app.settled()
    const [letter] = await app.office.list()
    expect(letter?.letter.error).toMatch(/publish\('c\.d', …\): found null for the options/)
  })

  it('a letter id in place of a list of them discards nothing', async () => {
    await using app = await testApp({ yaml: 'version: 1\ndefaults: { policy: none }' })
    app.service('mail').on('a.b', () => {
      throw new Error('no')
    })
    await app.publish('a.b', {})
    await app.settled()
    const [kept] = await app.office.list()
    const { message } = await refusal(() => app.office.discard(kept!.letter.id as Loose))
    expect(message).toMatch(/for the filter, expected an object/)
    expect(await app.office.count({ states: ['open'] })).toBe(1)
  })
})
