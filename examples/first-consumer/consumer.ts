import { EventEmitter, once } from 'node:events'
import { Permanent, reprieve, Transient } from 'reprieve'

const facts = new EventEmitter()
const app = await reprieve({
  transport: process.env.REPRIEVE_TRANSPORT ?? 'sqlite:first-consumer.db',
  journal: (fact) => facts.emit(fact.is),
})

app.service('mailer').on('task.created', ({ data }, ctx) => {
  console.log(`${data.id}: attempt ${ctx.attempt}`)
  if (!data.owner) throw new Permanent('nobody owns this task')
  if (ctx.attempt < 3) throw new Transient('the mail server is busy')
  console.log(`${data.id}: mail sent to ${data.owner}`)
})
await app.start()

const [done, buried] = [once(facts, 'done'), once(facts, 'letter kept')]
await app.publish('task.created', { id: 't-1', owner: 'ann@example.org' })
await done
await app.publish('task.created', { id: 't-2' })
await buried

const [newest] = await app.office.list({ service: 'mailer' }, 1)
console.log(`dead letter: ${newest?.letter.error} (${newest?.letter.category}), ${newest?.state}`)
await app.close()
