import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { StatementSync } from 'node:sqlite'

/** Where a process can die and leave the most doubt behind: just before something is durable, and just after. */
export type Boundary =
  | 'before commit'
  | 'after commit'
  | 'before ack'
  | 'after ack'
  | 'before confirm'
  | 'after confirm'

export interface Doom {
  readonly at: Boundary
  /** How often it passes before that. */
  readonly after: number
}

/**
 * Ends this process with SIGKILL at a boundary. Put in below the adapters, in SQLite and in the broker's client, so that
 * what runs is what always runs.
 */
export const doom = ({ at, after }: Doom): void => {
  let passed = 0
  const pass = (which: Boundary): void => {
    if (which === at && ++passed > after) process.kill(process.pid, 'SIGKILL')
  }
  if (at.endsWith('commit')) atCommits(pass)
  else atChannel(pass)
}

const atCommits = (pass: (which: Boundary) => void): void => {
  const { run } = StatementSync.prototype
  // biome-ignore lint/suspicious/noExplicitAny: its overloads say nothing that matters here
  StatementSync.prototype.run = function (this: StatementSync, ...values: any[]) {
    if (this.sourceSQL !== 'COMMIT') return run.apply(this, values as never)
    pass('before commit')
    const changes = run.apply(this, values as never)
    pass('after commit')
    return changes
  }
}

interface ChannelClass {
  readonly prototype: {
    ack(...args: unknown[]): void
    publish(
      exchange: string,
      key: string,
      body: Buffer,
      options: unknown,
      confirmed: (e: unknown) => void,
    ): boolean
  }
}

const atChannel = (pass: (which: Boundary) => void): void => {
  const require = createRequire(import.meta.url)
  // by its file: the package shows no more than its front
  const model = require(join(dirname(require.resolve('amqplib')), 'lib/channel_model.js')) as {
    readonly Channel: ChannelClass
    readonly ConfirmChannel: ChannelClass
  }
  const { ack } = model.Channel.prototype
  model.Channel.prototype.ack = function (...args) {
    pass('before ack')
    ack.apply(this, args)
    // a turn later it has left the process
    setImmediate(() => setImmediate(() => pass('after ack')))
  }
  const { publish } = model.ConfirmChannel.prototype
  model.ConfirmChannel.prototype.publish = function (exchange, key, body, options, confirmed) {
    const sent = publish.call(this, exchange, key, body, options, (error) => {
      pass('after confirm')
      confirmed(error)
    })
    setImmediate(() => setImmediate(() => pass('before confirm')))
    return sent
  }
}
