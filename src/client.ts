import { systemClock } from './adapters/system/clock.ts'
import { systemDice } from './adapters/system/dice.ts'
import { loadBook } from './book.ts'
import type { Journal } from './contracts/journal.ts'
import type { Clock, Dice, Tools } from './contracts/tools.ts'
import type { Transport } from './contracts/transport.ts'
import { openTransport } from './open.ts'
import type { RuleBook } from './rules/index.ts'
import { type Client, createClient } from './runtime/client.ts'
import type { ClientOptions as ReadOptions } from './runtime/client-options.ts'

export interface ClientOptions<Data> extends Omit<ReadOptions<Data>, 'rules'> {
  /** The rule book's file, or the book itself; without one sound defaults apply. */
  readonly rules?: string | RuleBook
  readonly journal?: Journal
  readonly clock?: Clock
  readonly dice?: Dice
}

const dice = systemDice()

/**
 * A retry-aware client of a queue, by its URL or on a transport that is open already, which then stays open when the client
 * closes.
 */
// biome-ignore lint/suspicious/noExplicitAny: without a schema the data may be anything
export const client = async <Data = any>(
  transport: string | Transport,
  options: ClientOptions<Data>,
): Promise<Client<Data>> => {
  const { rules, ...rest } = options
  const tools: Tools = {
    clock: options.clock ?? systemClock,
    dice: options.dice ?? dice,
    journal: options.journal ?? (() => {}),
  }
  const book = typeof rules === 'string' ? await loadBook(rules) : rules
  const all = { ...rest, ...(book && { rules: book }) }
  if (typeof transport !== 'string') return createClient(transport, all, tools)
  const { transport: own, store } = await openTransport(transport, tools)
  const closeOwn = async (): Promise<void> => {
    await own.close()
    await store?.close()
  }
  try {
    const made = await createClient(own, all, tools)
    let closing: Promise<void> | undefined
    const close = (): Promise<void> => {
      closing ??= made.close().then(closeOwn)
      return closing
    }
    return { ...made, close, [Symbol.asyncDispose]: close }
  } catch (error) {
    await closeOwn()
    throw error
  }
}
