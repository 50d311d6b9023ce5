import { EventEmitter, once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type PublishOptions, reprieve } from 'reprieve'
import register, { profiles } from './handlers.ts'

const facts = new EventEmitter()
let done = 0
const app = await reprieve({
  rules: fileURLToPath(new URL('reprieve.yaml', import.meta.url)),
  transport: process.env.REPRIEVE_TRANSPORT ?? 'sqlite:reprieve.db',
  store: process.env.REPRIEVE_STORE ?? 'sqlite:reprieve.db',
  journal: (fact) => {
    if (fact.is === 'done') done++
    facts.emit(fact.is)
  },
})
register(app)
await app.start()

// what belongs to one person stays in order
const tell = (type: string, data: { subject: string; [name: string]: string }, more: PublishOptions = {}) =>
  app.publish(type, data, { orderKey: data.subject, ...more })

const ann = { subject: 'ann', email: 'ann@example.org', firstName: 'Ann', lastName: 'Ode' }
const bob = { subject: 'bob', email: 'bob@example.org', firstName: 'Bob', lastName: 'Ruth' }
const cid = { subject: 'cid', email: 'cid@example.org', firstName: 'Cid', lastName: 'Hart' }
const buried = once(facts, 'letter kept')
await tell('user.registered', ann, { id: 'registration-of-ann' })
await tell('user.registered', bob)
await tell('user.registered', { ...bob, email: 'late@example.org' }) // ignored: Bob is there
await tell('user.updated', { ...bob, email: 'bob@example.com' })
await tell('user.updated', cid) // never registered: an update makes him
await tell('user.deleted', { subject: 'ann' })
await tell('user.registered', { subject: 'eve', email: 'nowhere' }) // can't be helped
while (done < 6) await once(facts, 'done')
await buried

for (const { subject, email, firstName, lastName } of await profiles.all())
  console.log(`${subject}: ${firstName} ${lastName} <${email}>`)
const [newest] = await app.office.list({ service: 'profile' }, 1)
console.log(`dead letter: ${newest?.letter.event.type}, ${newest?.letter.error} (${newest?.letter.category})`)
await app.close()
await profiles.close()
