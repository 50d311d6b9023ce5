import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import type { Needs } from '../../contracts/doctor.ts'
import { examinePolicies, MANAGEMENT } from './management.ts'
import { readUrl } from './settings.ts'

const settings = readUrl('amqp://host')
const needs: Needs = { subscriptions: [], foreign: [{ name: 'theirs', keep: 1000 }] } as unknown as Needs

/** A management API whose only queue has this policy. */
const api = async (definition: object, refuses: RegExp = /^$/, as = 401): Promise<string> => {
  const server = createServer((request, response) => {
    const flags = request.url!.endsWith('feature-flags')
    if (refuses.test(request.url!)) response.statusCode = as
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(flags ? [] : { policy: 'p', effective_policy_definition: definition }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it.each([
  [-1, 'fine'],
  [0, 'risky'],
  [19, 'risky'],
  [1_000_000, 'fine'],
])('a delivery limit of %i by a policy is %s', async (limit, level) => {
  const at = await api({ 'delivery-limit': limit })
  const found = await examinePolicies(needs, settings, { [MANAGEMENT]: at })
  expect(found.map((each) => each.level)).toEqual([level])
})

it('policies are looked at by a user to whom feature flags are not told, and it says so', async () => {
  const at = await api({ 'delivery-limit': 5 }, /feature-flags$/)
  const found = await examinePolicies(needs, settings, { [MANAGEMENT]: at })
  expect(found.map(({ level, where, what }) => `${level} ${where}: ${what}`)).toEqual([
    "risky queue theirs: its delivery-limit is 5, by policy 'p'",
    "fine feature flags: not looked at: it answers 401 to the user 'guest', for they are told to administrators",
  ])
  const none = { subscriptions: [] }
  const refused = await examinePolicies(none, settings, { [MANAGEMENT]: await api({}, /./) })
  expect(refused.map(({ level }) => level)).toEqual(['risky'])
})

it('where something else answers nothing was looked at, and nothing is called fine', async () => {
  const found = await examinePolicies(needs, settings, { [MANAGEMENT]: await api({}, /./, 404) })
  expect(found).toMatchObject([{ level: 'risky', what: expect.stringMatching(/no management API/) }])
})

it.each([
  ['http://ann:s3cret%zz@host:15672', /the password has a '%' in it/],
  ['http://ann%zz:s3cret@host:15672', /the user has a '%' in it/],
  ['http://ann:4711/s3cret@host:15672', /'@' behind the host/],
  ['nonsense', /is no http/],
])('%s is refused in clear words, and without the password', async (at, why) => {
  const asked = examinePolicies(needs, settings, { [MANAGEMENT]: at })
  await expect(asked).rejects.toMatchObject({ code: 'bad_url', message: expect.stringMatching(why) })
  await expect(asked).rejects.not.toThrow(/s3cret|4711/)
})
