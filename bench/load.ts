import { systemDice } from '../src/adapters/system/dice.ts'
import type { Event } from '../src/core/event.ts'
import type { Lead } from './harness.ts'

/** What every contender carries: one kilobyte of JSON an event, in batches of a hundred. */
export const BYTES = 1024
export const BATCH = 100
/** How many are published at once where only something has to be there before a heat begins. */
export const FILL = 2000
/** How many may be out and unsettled at once on a broker, for us and for the raw loop alike. */
export const WINDOW = 500
/**
 * Consumers run for days, on the connection and in the group they joined at first. In a heat half as many events again go
 * in front, untimed: until then the compiler has learned this app, which in a service is the only one.
 */
export const LEAD = 0.5
/**
 * A broker goes on writing for seconds after it has confirmed what a heat begins with: without a rest RabbitMQ was a third
 * slower in every other heat, whoever was on.
 */
export const REST = 3000

const dice = systemDice()

/** Ours and the raw loop mint ids alike. */
export const newId = (): string => dice.uuid()

/** For names of queues, topics and services that nobody else uses. */
export const freshName = (): string => `bench-${newId().replaceAll('-', '').slice(0, 12)}${newId().slice(-6)}`

export interface Order {
  readonly number: number
  readonly customer: string
  readonly lines: readonly { readonly sku: string; readonly amount: number }[]
  readonly note: string
}

/** An order that takes exactly `BYTES` as JSON. */
export const orderOf = (number: number): Order => {
  const lines = Array.from({ length: 8 }, (_, line) => ({
    sku: `sku-${line}-${number % 97}`,
    amount: line + 1,
  }))
  const bare = { number, customer: `customer-${number % 1000}`, lines, note: '' }
  return { ...bare, note: 'x'.repeat(BYTES - JSON.stringify(bare).length) }
}

/** A whole event with its data encoded, as `publishEvents` takes it. */
export const eventOf = (type: string, order: Order, id = newId()): Event => ({
  id,
  source: 'bench',
  type,
  time: new Date().toISOString(),
  datacontenttype: 'application/json',
  extensions: {},
  headers: {},
  data: Buffer.from(JSON.stringify(order)),
})

/** Orders 0 … events−1 in batches; the last may be smaller. */
export function* batches(events: number, size = BATCH): Generator<readonly Order[]> {
  for (let from = 0; from < events; from += size) {
    yield Array.from({ length: Math.min(size, events - from) }, (_, i) => orderOf(from + i))
  }
}

/** The handler of ours and of the raw loop: it is handed the order and does nothing with it but count it. */
export const counter = (events: number) => {
  let seen = 0
  let sum = 0
  let lead: Lead | undefined
  return {
    handle: async (order: Order): Promise<void> => {
      seen++
      sum += order.number
      if (lead && seen === lead.events) lead.over()
    },
    /** Tells when so many have come. */
    tell: (of: Lead): void => {
      lead = of
    },
    /** How many different orders came, as far as their numbers tell. */
    seen: (): number => (sum === (events * (events - 1)) / 2 ? seen : Number.NaN),
  }
}
