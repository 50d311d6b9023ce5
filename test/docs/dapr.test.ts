import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readRules } from '../../src/rules/index.ts'
import { renderDapr } from '../../src/rules/render/index.ts'
import { root } from '../architecture/source.ts'

it('docs/dapr.md shows a book that is rendered without a breaker that ends its own retries', () => {
  const page = readFileSync(join(root, 'docs/dapr.md'), 'utf8')
  const [, text] = /^```yaml\n([\s\S]*?)^```$/m.exec(page)!
  const { resiliency, subscriptions, losses } = renderDapr(readRules(text!, 'reprieve.yaml', {}))
  expect(resiliency.text).toContain('trip: consecutiveFailures >= 5')
  expect(subscriptions.map(({ name }) => name)).toEqual([
    'subscription-notification-svc-todo.task.created.yaml',
  ])
  expect(losses.filter(({ because }) => because.includes('counts attempts'))).toEqual([])
})
