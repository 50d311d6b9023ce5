import type { Tools } from '../contracts/tools.ts'
import type { Inlet, Transport } from '../contracts/transport.ts'
import { ReprieveError } from '../core/error.ts'
import { Transient } from '../core/errors.ts'
import { checkGiven, object } from '../core/given.ts'
import { createHold, type Ended, type Hold, type Message } from './client-hold.ts'
import { type ClientOptions, receptionOf } from './client-options.ts'
import { createDeadlines } from './deadline.ts'
import { type Answer, answerOf, type PublishOptions } from './handler.ts'
import { makeEvent, publishAll } from './publish.ts'
import { type RetryPlan, runRetry } from './retry.ts'
import { type Duration, millis } from './retry-duration.ts'
import { planOf } from './retry-options.ts'

/** For whoever wants to send and receive rather than to write handlers. */
export interface Client<Data> extends AsyncDisposable {
  /** Resolves with the event's id when it is durable; throws `RetryFailed` when nothing more is granted. */
  send(event: Outgoing): Promise<string>
  send(events: readonly Outgoing[]): Promise<readonly string[]>
  /** Waits for the first message, then answers with what is there, at most `max`; with none when the time is over. */
  receive(max?: number, options?: ReceiveOptions): Promise<readonly Message<Data>[]>
  /** It is done with, for good. */
  acknowledge(receipt: string): Promise<'done' | 'lost'>
  /**
   * It failed: seen again by the policy, or buried where that grants no more, or the error says that it can't help. An
   * answer as handlers give it, `later(…)` or `dead(…)`, is followed as there. Without an error it counts as transient.
   */
  reject(receipt: string, error?: unknown): Promise<Ended>
  /** As if it had never been received: for anyone to take, at once. */
  giveBack(receipt: string): Promise<'given back' | 'lost'>
  /** Gives back what is held. */
  close(): Promise<void>
}

export interface Outgoing extends PublishOptions {
  /** Default: the topic's name. */
  readonly type?: string
  readonly data?: unknown
}

export interface ReceiveOptions {
  /** Default: 20 s. A broker needs a moment to answer: with less than a second it may seem that nothing is there. */
  readonly wait?: Duration
  readonly signal?: AbortSignal
}

const WAIT = 20_000
const MESSAGE = object('{ data: { … } }')

/** Trying again within one call can't mend these. */
const VAIN = [
  { match: { code: 'unheard' }, category: 'permanent', reason: 'nobody is subscribed' },
  { match: { code: 'closed' }, category: 'permanent', reason: 'it was closed' },
] as const

export const createClient = async <Data>(
  transport: Transport,
  options: ClientOptions<Data>,
  tools: Tools,
): Promise<Client<Data>> => {
  const { topic, service, schema } = options
  const { clock, dice, journal } = tools
  const deadlines = createDeadlines(clock)
  const sending = planOf(
    { ...options, overrides: [...(options.overrides ?? []), ...VAIN] },
    { clock, dice, deadlines },
  )
  const closed = new AbortController()
  const reception = service === undefined ? undefined : receptionOf(options, service, transport)

  const run = <T>(plan: RetryPlan, fn: () => Promise<T>, signal?: AbortSignal): Promise<T> =>
    new Promise((resolve, reject) => runRetry(plan, fn, signal, resolve, reject))

  const inlet = reception && (await run(sending, () => transport.subscribe(reception.subscription)))
  const hold = reception && inlet && createHold({ reception, schema, transport, inlet, deadlines, tools })
  const keeping = hold && inlet && keep(inlet, hold, reception.subscription.lease, tools, closed.signal)

  const mustBeOpen = (): void => {
    if (closed.signal.aborted) throw new ReprieveError('closed', `the client of ${topic} was closed`)
  }
  const holding = (): Hold<Data> => {
    if (hold) return hold
    throw new ReprieveError('bad_usage', `the client of ${topic} only sends`, {
      fix: "say who receives: client(…, { service: 'my-service', … })",
    })
  }

  const send = async (given: Outgoing | readonly Outgoing[]) => {
    mustBeOpen()
    const many: readonly Outgoing[] = Array.isArray(given) ? given : [given]
    for (const each of many) checkGiven('send(…)', 'the message', each, MESSAGE)
    // made once: however often it is tried, it is the same event
    const events = many.map(({ type = topic, data, ...about }) =>
      makeEvent(type, data, { ...(service !== undefined && { source: service }), ...about }, tools),
    )
    if (events.length > 0)
      await run(sending, () => publishAll(transport, () => topic, events, tools), closed.signal)
    const ids = events.map(({ id }) => id)
    return Array.isArray(given) ? ids : ids[0]!
  }

  const receive: Client<Data>['receive'] = async (max = 1, { wait, signal } = {}) => {
    mustBeOpen()
    const desk = holding()
    if (!(Number.isInteger(max) && max > 0))
      throw new ReprieveError('bad_usage', `receive(${max}): expected a whole number from 1`)
    const enough = new AbortController()
    const end = () => enough.abort()
    const forms = [signal, closed.signal].filter((each) => each !== undefined)
    for (const each of forms) {
      each.addEventListener('abort', end, { once: true })
      if (each.aborted) end()
    }
    void clock.sleep(millis('wait', wait, WAIT), enough.signal).then(end)
    // no attempt is left behind, or what it brings would be held by nobody; the waits between them end with ours
    const plan: RetryPlan = {
      ...sending,
      timeout: Number.POSITIVE_INFINITY,
      overall: Number.POSITIVE_INFINITY,
      clock: { now: clock.now, sleep: (ms) => clock.sleep(ms, enough.signal) },
    }
    try {
      let messages: readonly Message<Data>[] = []
      while (messages.length === 0 && !enough.signal.aborted) {
        const pull = async () => (enough.signal.aborted ? [] : inlet!.receive(max, enough.signal))
        messages = await desk.admit(await run(plan, pull))
      }
      return messages
    } finally {
      end()
      for (const each of forms) each.removeEventListener('abort', end)
    }
  }

  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    closed.abort(new ReprieveError('closed', `the client of ${topic} was closed`))
    await hold?.close()
    await keeping
    await inlet?.close()
    journal({ at: clock.now(), is: 'notice', text: `the client of ${topic} was closed` })
  }
  const closeOnce = (): Promise<void> => {
    closing ??= close()
    return closing
  }

  return {
    send: send as Client<Data>['send'],
    receive,
    acknowledge: async (receipt) => {
      const { is } = await holding().end(receipt, { reply: undefined })
      return is === 'done' ? is : 'lost'
    },
    reject: (receipt, error = new Transient('the message was rejected')) => {
      const answer: Answer | undefined = answerOf(error)
      return holding().end(receipt, answer ? { reply: answer } : { error })
    },
    giveBack: async (receipt) => {
      const { is } = await holding().end(receipt, 'give back')
      return is === 'given back' ? is : 'lost'
    },
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  }
}

/** Keeps what is held ours: a lease is shorter than the longest hold. */
const keep = async (
  inlet: Inlet,
  hold: Pick<Hold<unknown>, 'values'>,
  lease: number,
  { clock, journal }: Tools,
  stop: AbortSignal,
): Promise<void> => {
  for (;;) {
    await clock.sleep(lease / 3, stop)
    if (stop.aborted) return
    const out = hold.values()
    if (out.length === 0) continue
    try {
      await inlet.extend(out, clock.now() + lease)
    } catch (error) {
      journal({ at: clock.now(), is: 'trouble', where: 'keeping messages', error: error as Error })
    }
  }
}
