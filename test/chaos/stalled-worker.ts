import { once } from 'node:events'
import { type Context, reprieve, type Sql } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'

/** A worker whose handler takes as long as it is let: it says when it begins, and goes on at a word. */
const [, , transport, pattern] = process.argv

const app = await reprieve({
  transport: transport!,
  office: false,
  rules: readRules(
    `version: 1
# long enough that a busy machine alone lets nobody stand still for so long
defaults: { lease: 6s, timeout: 5m, idempotency: { pattern: ${pattern} } }`,
    'test.yaml',
  ),
  journal: (fact) => {
    if (fact.is === 'done' || fact.is === 'dead' || fact.is === 'lost') process.send?.(fact.is)
  },
})
app.service('slow-svc').on('slow.asked', async (event, ctx: Context) => {
  process.send?.('begun')
  await once(process, 'message')
  if (pattern !== 'transaction') return
  await ctx.tx((db: Sql) => {
    db.prepare('INSERT INTO effects VALUES (?)').run(event.id)
  })
})
await app.start()
process.send?.('ready')
