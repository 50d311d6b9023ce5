import { z } from 'zod'
import type { Reprieve } from '../../reprieve.ts'
import type { Handler, Schema } from '../../runtime/handler.ts'
import { sendMail } from './smtp-client.ts'

const NewTask = z.object({ id: z.string(), owner: z.string() })
/** What an older producer sends. */
const OldTask = z
  .object({ id: z.string(), mail: z.string() })
  .transform(({ id, mail }) => ({ id, owner: mail }))
const AnyTask = z.union([NewTask, OldTask])

type Task = z.output<typeof NewTask>

export const SERVICE = 'notification-svc'

export interface ServiceOptions {
  readonly port: number
  /** Whether the version that understands older producers is deployed. */
  readonly fixed: () => boolean
  readonly began: (event: string) => void
}

/** The service of the demo: it sends a mail for each task. Nothing in it knows of retries or dead letters. */
export const registerService = (app: Reprieve, { port, fixed, began }: ServiceOptions): void => {
  const schema: Schema<Task> = {
    '~standard': {
      version: 1,
      vendor: 'demo',
      validate: (value) => (fixed() ? AnyTask : NewTask)['~standard'].validate(value),
    },
  }
  const mailAbout =
    (subject: string): Handler<Task> =>
    async (event, ctx) => {
      began(event.id)
      const { id, owner } = event.data
      const mail = { id: ctx.idempotencyKey, to: owner, subject, text: `Task ${id} is yours.` }
      await ctx.call('smtp', (signal) => sendMail(port, mail, signal))
    }
  app
    .service(SERVICE)
    .on('todo.task.created', schema, mailAbout('A task for you'))
    .on('todo.task.reminder', schema, mailAbout('Your task is waiting'))
}
