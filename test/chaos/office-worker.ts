import { reprieve } from '../../src/index.ts'

/** An office of its own process, for whoever wants to kill one. Says each letter that it has kept. */
const [transport, store, ...destinations] = process.argv.slice(2) as [string, string, ...string[]]
const app = await reprieve({
  transport,
  store,
  journal: (fact) => {
    if (fact.is === 'letter kept') console.log(`kept ${fact.letter}`)
  },
})
await app.office.open(destinations.map((name) => ({ name })))
console.log('ready')
process.once('SIGTERM', () => void app.close())
