import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { readRules } from '../../src/rules/index.ts'
import { type DaprRendering, renderDapr } from '../../src/rules/render/index.ts'
import { daprd } from './daprd.ts'
import { startApp, startSidecar } from './sidecar.ts'

const TODO = fileURLToPath(new URL('../../examples/todo/reprieve.yaml', import.meta.url))

/** Small figures, so that what Dapr does can be counted in a second. */
const SMALL = readRules(
  `version: 1
policies:
  quick: { backoff: fixed, delay: 20ms, jitter: none, retries: 5 }
breakers:
  third: { failures: 3, open: 60s }
topics:
  todo.tasks: ['todo.task.*']
services:
  notification-svc:
    events:
      todo.task.created: { policy: quick }
      todo.reminder.fired: { policy: quick }
dapr:
  components:
    pubsub-kafka: { inbound: { policy: quick, timeout: fast }, outbound: { breaker: third } }
  apps:
    notification-svc: { policy: quick, timeout: 5s }
`,
  'small.yaml',
  {},
)

/** An app's target, and nothing else. */
const aimed = (target: string) =>
  readRules(
    `version: 1
policies:
  quick: { backoff: fixed, delay: 20ms, jitter: none, retries: 5 }
breakers:
  third: { failures: 3, open: 60s }
dapr:
  apps:
    notification-svc: ${target}
`,
    'aimed.yaml',
    {},
  )

const PUBSUB = `apiVersion: dapr.io/v1alpha1
kind: Component
metadata:
  name: pubsub-kafka
spec:
  type: pubsub.in-memory
  version: v1
  metadata: []
`

const DEAD = `apiVersion: dapr.io/v2alpha1
kind: Subscription
metadata:
  name: dead-letters
spec:
  pubsubname: pubsub-kafka
  topic: _notification-svc.deadletter
  routes:
    default: /dead
`

const filesOf = ({ resiliency, subscriptions }: DaprRendering) => ({
  ...Object.fromEntries(subscriptions.map(({ name, text }) => [name, text])),
  'resiliency.yaml': resiliency.text,
  'pubsub.yaml': PUBSUB,
  'dead.yaml': DEAD,
})

let program: string
let absent: string | undefined
beforeAll(async () => {
  program = await daprd().catch((error: Error) => {
    absent = `no sidecar can be had here: ${error.message}`
    console.warn(absent)
    return ''
  })
})

/** Skipped with the reason where no sidecar can be had. */
const inSidecar = (title: string, run: () => Promise<void>) =>
  it(title, async ({ skip }) => {
    if (absent !== undefined) skip(absent)
    await run()
  })

const COMPLAINT = /Could not (read|parse|determine)|invalid (retry|duration)|panic|level=(error|fatal)/

describe('rendered documents in a real sidecar', () => {
  inSidecar('the todo book loads, with growing and with constant delays', async () => {
    const book = readRules(readFileSync(TODO, 'utf8'), 'reprieve.yaml', {})
    for (const exact of [false, true]) {
      const app = await startApp({})
      const sidecar = await startSidecar(
        program,
        { id: 'notification-svc', port: app.port },
        filesOf(renderDapr(book, { exact })),
      )
      expect(await sidecar.metrics()).toMatch(/^dapr_resiliency_loaded\{[^}]*\} 1$/m)
      expect(sidecar.log()).not.toMatch(COMPLAINT)
      expect(sidecar.log()).toContain('reprieve-resiliency')
    }
  })

  inSidecar('a document that Dapr could not read would be noticed', async () => {
    const app = await startApp({})
    const files = filesOf(renderDapr(SMALL))
    const sidecar = await startSidecar(
      program,
      { id: 'notification-svc', port: app.port },
      { ...files, 'resiliency.yaml': files['resiliency.yaml'].replace('fast: 5s', 'fast: 5 seconds') },
    )
    expect(await sidecar.metrics()).not.toContain('dapr_resiliency_loaded')
    expect(sidecar.log()).toMatch(COMPLAINT)
  })

  inSidecar('5 retries are 6 attempts on an app, and an answer that is permanent is one', async () => {
    const app = await startApp({ '/busy': 503, '/wrong': 422 })
    const { url } = await startSidecar(
      program,
      { id: 'notification-svc', port: app.port },
      filesOf(renderDapr(SMALL)),
    )
    const invoke = (path: string) => fetch(`${url}/v1.0/invoke/notification-svc/method${path}`)
    expect((await invoke('/busy')).status).toBe(503)
    expect(app.calls('/busy')).toBe(6)
    expect((await invoke('/wrong')).status).toBe(422)
    expect(app.calls('/wrong')).toBe(1)
  })

  inSidecar(
    'a breaker of 3 failures opens on the third, and cuts the retries short as was warned',
    async () => {
      const rendering = renderDapr(aimed('{ policy: quick, breaker: third }'))
      expect(rendering.losses.map(({ at, lost }) => `${at}: ${lost}`)).toContain(
        'apps.notification-svc: retries 3 to 5 of quick',
      )
      const app = await startApp({ '/busy': 503 })
      const { url, log } = await startSidecar(
        program,
        { id: 'notification-svc', port: app.port },
        filesOf(rendering),
      )
      const invoke = () => fetch(`${url}/v1.0/invoke/notification-svc/method/busy`)
      expect((await invoke()).ok).toBe(false)
      expect((await invoke()).ok).toBe(false)
      expect(app.calls('/busy')).toBe(3)
      expect(log()).toMatch(/Circuit breaker .* changed state from closed to open/)
    },
  )

  inSidecar('a policy without retries is one attempt', async () => {
    const app = await startApp({ '/busy': 503 })
    const { url } = await startSidecar(
      program,
      { id: 'notification-svc', port: app.port },
      filesOf(renderDapr(aimed('{ policy: none }'))),
    )
    expect((await fetch(`${url}/v1.0/invoke/notification-svc/method/busy`)).status).toBe(503)
    expect(app.calls('/busy')).toBe(1)
  })

  inSidecar('an event that fails is delivered 6 times, then lies bare on its dead-letter topic', async () => {
    const app = await startApp({ '/events/todo.task.created': 500, '/events/todo.reminder.fired': 422 })
    const { url } = await startSidecar(
      program,
      { id: 'notification-svc', port: app.port },
      filesOf(renderDapr(SMALL)),
    )
    const publish = (topic: string, type: string) =>
      fetch(`${url}/v1.0/publish/pubsub-kafka/${topic}`, {
        method: 'POST',
        headers: { 'content-type': 'application/cloudevents+json' },
        body: JSON.stringify({ specversion: '1.0', id: type, source: '/test', type, data: { n: 1 } }),
      })
    expect((await publish('todo.tasks', 'todo.task.created')).status).toBe(204)
    const letter = JSON.parse(await app.called('/dead', 1)) as Record<string, unknown>
    expect(app.calls('/events/todo.task.created')).toBe(6)
    expect(letter).toMatchObject({ id: 'todo.task.created', data: { n: 1 } })
    expect(Object.keys(letter).filter((key) => /error|attempt|reason/i.test(key))).toEqual([])
    // a permanent answer goes there at once
    await publish('todo.reminder.fired', 'todo.reminder.fired')
    await app.called('/dead', 2)
    expect(app.calls('/events/todo.reminder.fired')).toBe(1)
    // a type that no row names comes to the default route, and is not taken for dead
    await publish('todo.tasks', 'todo.task.renamed')
    await app.called('/events/others', 1)
    expect(app.calls('/dead')).toBe(2)
  })
})
