/**
 * The demo's rule book. It is written to a file and read from there, as any other; its policies are those of a service
 * in a hurry, so that nobody has to wait for the end of the story.
 */
export const DEMO_RULES = `version: 1

policies:
  quick:    { backoff: exponential, initial: 400ms, max: 2s, jitter: half, retries: 6, window: 60s }
  reminder: { extends: quick, retries: 2 }

dependencies:
  smtp: { timeout: 1s, breaker: { failures: 5, open: 1s } }

services:
  notification-svc:
    policy: quick
    dependencies: [smtp]
    overrides:
      - match: { code: '450' }
        category: rate-limited
        reason: our mail server says 450 to those who write too often
    events:
      todo.task.created: { criticality: high }
      todo.task.reminder: { policy: reminder }
`
