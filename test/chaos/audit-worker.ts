import { setTimeout as pause } from 'node:timers/promises'
import { reprieve } from '../../src/index.ts'

/** Acts as fast as it can: a pause, then three letters discarded, and so on while there are letters. A victim goes on until it is killed. */
const [transport, as, service, store] = process.argv.slice(2) as [string, string, string, string?]
const app = await reprieve({ transport, as, office: false, ...(store !== undefined && { store }) })
const ids = (await app.store.letters.find({ service }, 10_000)).map(({ letter }) => letter.id)
console.log('ready')
// several begin at the same moment
while (!(await app.hand.paused()).some((each) => each.service === 'go')) await pause(1)
for (let n = 0; n < ids.length; n += 3) {
  await app.hand.pause(`${as}-${n}`)
  await app.office.discard(ids.slice(n, n + 3))
}
for (let n = ids.length; as.startsWith('victim'); n++) await app.hand.pause(`${as}-${n}`)
await app.close()
