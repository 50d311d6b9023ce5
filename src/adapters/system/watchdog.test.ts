import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const watchdog = fileURLToPath(new URL('./watchdog.ts', import.meta.url))

/** A second, or a machine that is busy would be told of as well. */
const BLOCKED = 1000

const run = (body: string) =>
  spawnSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { startWatchdog } from ${JSON.stringify(watchdog)}
const clock = { now: Date.now }
const journal = (fact) => console.log(fact.where + ': ' + fact.error.message)
const dog = startWatchdog(${BLOCKED}, { clock, journal })
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
function blockTheLoop(ms) { const end = Date.now() + ms; while (Date.now() < end); }
await sleep(1000)
${body}`,
    ],
    { encoding: 'utf8', timeout: 50_000 },
  )

it('tells where the event loop is blocked, while it is, and the journal afterwards', () => {
  const { stdout, stderr, status } = run('blockTheLoop(5000); await sleep(1500); await dog.stop()')
  expect(stderr).toMatch(/^reprieve: the event loop has been blocked for \d+ ms:\n {4}at blockTheLoop \(/)
  expect(stderr.match(/blocked for/g)).toHaveLength(1)
  expect(stdout).toMatch(/^the event loop: it was blocked for \d+ ms or longer, at blockTheLoop \(/)
  expect(status).toBe(0)
})

it('says nothing of a loop that turns, and keeps no process alive', () => {
  const { stdout, stderr, status } = run('for (let i = 0; i < 60; i++) { blockTheLoop(30); await sleep(5) }')
  expect({ stdout, stderr, status }).toEqual({ stdout: '', stderr: '', status: 0 })
})
