import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { Permanent, reprieve } from '../../src/index.ts'
import { sweep } from '../rabbitmq/sweep.ts'
import { folderWith, type Running, startNode } from '../scenarios/child.ts'
import { describeWith } from '../services/urls.ts'
import { ownSchema, plainly } from '../stores/postgres.ts'

const WORKER = fileURLToPath(new URL('./office-worker.ts', import.meta.url))
const LETTERS = 2000

describeWith('amqp', 'offices of several processes', (broker) =>
  describeWith('postgres', 'on one PostgreSQL', (url) => {
    it('share the work; some are killed in the midst of it, every letter is kept once, and every count is true', async () => {
      const cwd = folderWith()
      const service = `office-${randomUUID().slice(0, 8)}`
      const store = ownSchema(url)
      const app = await reprieve({ transport: broker, store, office: false })
      onTestFinished(() => sweep(broker, service, `${service}.sent`))
      onTestFinished(() => app.close())
      app.service(service).on(`${service}.sent`, ({ data }) => {
        throw new Permanent(`kind ${(data as { n: number }).n % 3}`)
      })
      await app.start()
      const destinations = app.destinations().map(({ name }) => name)
      const office = () => startNode([WORKER, broker, store, ...destinations], { cwd })
      const keptBy = (text: string) => [...text.matchAll(/^kept (.+)$/gm)].map(([, id]) => id!)

      const all = Array.from({ length: 4 }, office)
      await Promise.all(all.map(({ said }) => said('ready')))
      const [survivor, ...victims] = all as [Running, ...Running[]]
      const deaths = victims.map(async (victim, n) => {
        // far less than its share of them all, which another may take if it is slow
        await expect.poll(() => keptBy(victim.soFar()).length, { interval: 1 }).toBeGreaterThan(n * 30)
        victim.signal('SIGKILL')
        expect((await victim.ended).code).toBeNull()
      })
      for (let n = 0; n < LETTERS; n += 50) {
        const some = Array.from({ length: 50 }, (_, i) => n + i)
        await Promise.all(some.map((each) => app.publish(`${service}.sent`, { n: each })))
      }
      await Promise.all(deaths)
      await expect.poll(() => app.store.letters.count({}), { interval: 100 }).toBe(LETTERS)

      const counted =
        'SELECT fingerprint, state, count(*)::integer AS n FROM letter GROUP BY 1, 2 ORDER BY 1, 2'
      const tallied =
        'SELECT fingerprint, state, sum(count)::integer AS n FROM letter_tally GROUP BY 1, 2 ORDER BY 1, 2'
      expect(await plainly(store, tallied)).toEqual(await plainly(store, counted))
      const [arrived] = await plainly(store, 'SELECT sum(count)::integer AS n FROM letter_arrival')
      expect(arrived).toEqual({ n: LETTERS })
      survivor.signal('SIGTERM')
      const { stdout, code } = await survivor.ended
      expect(code).toBe(0)
      expect(new Set(keptBy(stdout)).size).toBeGreaterThan(0)
    })
  }),
)
