import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { buildBook, emptyBook } from '../../book.ts'
import { readRules } from '../../load.ts'
import { showLoss } from './loss.ts'
import { renderDapr } from './render.ts'
import { resiliencyOf } from './resiliency.ts'
import { subscriptionsOf } from './subscriptions.ts'

const rules = (text: string) => readRules(`version: 1\n${text}`, 'r.yaml', {})

const losses = (text: string, exact = false) => renderDapr(rules(text), { exact }).losses.map(showLoss)

describe('a Resiliency document', () => {
  const { policies } = resiliencyOf(emptyBook).document.spec

  it('has the published figures of the built-in policies, timeouts and breakers', () => {
    const figures = Object.entries(policies.retries).map(([name, retry]) => [
      name,
      'maxInterval' in retry ? retry.maxInterval : undefined,
      retry.maxRetries,
    ])
    expect(figures).toEqual([
      ['aggressive', '5s', 3],
      ['standard', '30s', 5],
      ['patient', '60s', 8],
      ['critical', '120s', 12],
      ['none', undefined, 0],
    ])
    expect(policies.timeouts).toEqual({ fast: '5s', default: '15s', slow: '30s' })
    expect(policies.circuitBreakers).toMatchObject({
      kafkaBreaker: { maxRequests: 1, timeout: '60s', trip: 'consecutiveFailures >= 5' },
      stateBreaker: { maxRequests: 1, timeout: '30s', trip: 'consecutiveFailures >= 3' },
      externalBreaker: { maxRequests: 2, timeout: '120s', trip: 'consecutiveFailures >= 5' },
      sidecarBreaker: { maxRequests: 1, timeout: '15s', trip: 'consecutiveFailures >= 3' },
    })
  })

  it('retries what is not permanent, as far as a status tells; overrides for all count', () => {
    expect(policies.retries.standard!.matching).toEqual({ httpStatusCodes: '429,500-599' })
    const book = rules(`defaults:
  overrides:
    - { match: { status: 408 }, category: transient, reason: slow clients }
    - { match: { status: 501 }, category: permanent, reason: will never be }`)
    expect(resiliencyOf(book).document.spec.policies.retries.standard!.matching).toEqual({
      httpStatusCodes: '408,429,500,502-599',
    })
  })

  it('has constant delays where they are exact, or asked for', () => {
    const book = rules(`policies:
  steady: { backoff: fixed, delay: 1500ms, jitter: none, retries: 4 }
  rush: { backoff: none, retries: 2 }`)
    const { retries } = resiliencyOf(book).document.spec.policies
    expect(retries.steady).toMatchObject({ policy: 'constant', duration: '1500ms', maxRetries: 4 })
    expect(retries.rush).toMatchObject({ policy: 'constant', duration: '0s', maxRetries: 2 })
    // 23.25 s are to be expected of the five delays of standard
    expect(resiliencyOf(book, { exact: true }).document.spec.policies.retries.standard).toMatchObject({
      policy: 'constant',
      duration: '4650ms',
      maxRetries: 5,
    })
  })

  it('has the targets of the book, a length of time under a name of its own', () => {
    const book = rules(`dapr:
  namespace: todo
  scopes: [a-svc]
  components:
    statestore: { outbound: { policy: aggressive, timeout: 2s, breaker: kafkaBreaker } }
  apps:
    todo-api: { policy: standard, timeout: default, breaker: none }`)
    const { document } = resiliencyOf(book)
    expect(document).toMatchObject({
      metadata: { name: 'reprieve-resiliency', namespace: 'todo' },
      scopes: ['a-svc'],
    })
    expect(document.spec.policies.timeouts['after-2s']).toBe('2s')
    expect(document.spec.targets).toEqual({
      components: {
        statestore: {
          outbound: { retry: 'aggressive', timeout: 'after-2s', circuitBreaker: 'kafkaBreaker' },
        },
      },
      apps: { 'todo-api': { retry: 'standard', timeout: 'default' } },
    })
  })

  it('is scoped to a service where one is asked for', () => {
    const book = buildBook({ services: { 'a-svc': {} }, dapr: { scopes: ['a-svc', 'b-svc'] } })
    expect(resiliencyOf(book, { service: 'a-svc' }).document).toMatchObject({
      metadata: { name: 'a-svc-resiliency' },
      scopes: ['a-svc'],
    })
  })

  it('is YAML that Go reads as we mean it', () => {
    const book = rules(`policies:
  'on': { extends: standard }
  '123': { extends: standard }`)
    const { text } = renderDapr(book).resiliency
    expect(text).toContain('"on":')
    expect(text).toContain('"123":')
    expect(parse(text, { version: '1.1' })).toEqual(resiliencyOf(book).document)
    expect(text).not.toMatch(/^(---|%YAML)/m)
  })
})

describe('what is lost', () => {
  it('is told of each policy in use: delays, cap and window', () => {
    const told = losses('dapr: { apps: { a: { policy: standard } } }')
    expect(told).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          /^retries\.standard loses first delay, growth and jitter \(exponential from 1s/,
        ),
        expect.stringMatching(/^retries\.standard loses the exact cap of 30s: .* 45s$/),
        expect.stringMatching(/^retries\.standard loses the window of 5m: /),
        expect.stringMatching(/^retries loses Retry-After: /),
      ]),
    )
    expect(told.filter((text) => /patient|critical/.test(text))).toEqual([])
    expect(losses('dapr: { apps: { a: { policy: standard } } }', true)).toContainEqual(
      expect.stringMatching(/^retries\.standard loses growth and jitter .* each retry waits 4650ms/),
    )
  })

  it('no breaker stands on a pub/sub component, whatever tells that it is one', () => {
    for (const component of ['pubsub-kafka: {', 'my-PubSub: {', 'events: { kind: pubsub,']) {
      const book = rules(`dapr: { components: { ${component} outbound: { breaker: kafkaBreaker } } } }`)
      const { document, losses } = resiliencyOf(book)
      expect(JSON.stringify(document.spec.targets)).not.toContain('kafkaBreaker')
      expect(losses.map(showLoss)).toContainEqual(
        expect.stringMatching(/outbound loses breaker kafkaBreaker: /),
      )
    }
    const other = rules(
      'dapr: { components: { pubsub-audit: { kind: binding, outbound: { breaker: kafkaBreaker } } } }',
    )
    expect(JSON.stringify(resiliencyOf(other).document.spec.targets)).toContain('kafkaBreaker')
  })

  it('a breaker that opens within the retries of one call is told', () => {
    const at = (failures: number) =>
      losses(`breakers: { b: { failures: ${failures}, open: 1s } }
dapr: { apps: { a: { policy: standard, breaker: b } } }`).filter((text) => text.startsWith('apps.a'))
    expect(at(3)).toEqual([expect.stringMatching(/^apps\.a loses retries 3 to 5 of standard: /)])
    expect(at(5)).toEqual([expect.stringMatching(/^apps\.a loses retry 5 of standard: /)])
    expect(at(6)).toEqual([])
  })

  it('what a breaker has beyond Dapr is told', () => {
    const told = losses(`breakers:
  b: { failures: 9, open: 1s, probes: 1, successes: 3, interval: 1m, rate: 50%, spread: 10%, probeLease: 5s, ramp: 1m }
dapr: { apps: { a: { breaker: b } } }`).filter((text) => text.startsWith('circuitBreakers.b'))
    for (const what of [
      'interval 1m',
      'its own number of successes that close it (3)',
      'the failure rate',
      'the spread',
      'the lease',
      'the ramp',
    ]) {
      expect(told).toContainEqual(expect.stringContaining(`loses ${what}`))
    }
  })

  it('rows that want other rules than their component has are named', () => {
    const told = losses(`services:
  a-svc:
    timeout: 15s
    events:
      plain.one: { policy: standard }
      urgent.one: { policy: critical, timeout: 30s }
dapr: { components: { pubsub: { inbound: { policy: standard, timeout: default } } } }`)
    expect(told).toContainEqual(
      'components.pubsub.inbound loses policies of a-svc urgent.one (critical): Dapr has one for all events of a component: standard',
    )
    expect(told).toContainEqual(
      'components.pubsub.inbound loses timeouts of a-svc urgent.one (30s): Dapr has one for all events of a component: 15s',
    )
  })

  it('a book without targets says so', () => {
    expect(losses('policies: {}')).toContainEqual(expect.stringMatching(/^targets loses everything: /))
  })
})

describe('Subscriptions', () => {
  const book = rules(`topics:
  todo.tasks: ['todo.task.*']
services:
  mail-svc:
    consumerGroup: mailers
    events:
      todo.task.*: {}
      todo.task.created: { channel: sms }
      audit.entry: {}
      other.*: {}
dapr: { pubsub: pubsub-kafka }`)
  const { documents, losses: told } = subscriptionsOf(book)

  it('have the dead-letter topic, the route of each type, and the service as scope', () => {
    expect(
      documents.map(({ metadata, scopes, spec }) => [metadata.name, scopes, spec.deadLetterTopic]),
    ).toEqual([
      ['mail-svc-todo.tasks', ['mail-svc'], '_mail-svc.deadletter'],
      ['mail-svc-audit.entry', ['mail-svc'], '_mail-svc.deadletter'],
    ])
    expect(documents[0]!.spec.routes).toEqual({
      rules: [
        { match: 'event.type == "todo.task.created"', path: '/events/todo.task.created' },
        { match: 'event.type.startsWith("todo.task.")', path: '/events/todo.task.any' },
      ],
      default: '/events/others',
    })
    expect(documents[1]!.spec).toMatchObject({
      pubsubname: 'pubsub-kafka',
      topic: 'audit.entry',
      routes: { default: '/events/audit.entry' },
    })
  })

  it('tell what they can not say', () => {
    const all = told.map(showLoss)
    expect(all).toContainEqual(expect.stringMatching(/loses the destinations of todo\.task\.created: /))
    expect(all).toContainEqual(expect.stringMatching(/^services\.mail-svc loses consumer group mailers: /))
    expect(all).toContainEqual(expect.stringMatching(/events\.other\.\* loses the subscription: /))
    expect(all).toContainEqual(expect.stringMatching(/must answer with success$/))
    const none = subscriptionsOf(rules('services: { a-svc: { events: { x: {} } } }'))
    expect(none.documents).toEqual([])
    expect(none.losses.map(showLoss)).toEqual([expect.stringMatching(/^subscriptions loses all: /)])
  })
})
