import { reprieve } from '../../src/index.ts'

/** Removes what is past its time, and says when it is done. */
const [path] = process.argv.slice(2)
const app = await reprieve({ transport: `sqlite:${path}`, rules: 'reprieve.yaml', office: false })
const { removed } = await app.office.removePast({ as: 'worker' })
console.log(`removed ${removed}`)
await app.close()
