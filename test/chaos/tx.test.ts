import { describe, expect, it } from 'vitest'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { type TxCrashOptions, txCrash } from '../tx/crash.ts'
import { PATIENCE } from './patience.ts'

const EVENTS = 150

/** Each event has one effect and one outgoing event that arrived, by count in the user's tables. */
const once = (options: Omit<TxCrashOptions, 'events' | 'patience'>) => async () => {
  const { deaths, ...counts } = await txCrash({ ...options, events: EVENTS, patience: PATIENCE })
  expect(counts).toEqual({ effects: [EVENTS, EVENTS], received: [EVENTS, EVENTS], left: 0 })
  expect(deaths).toEqual(options.boundaries.map(() => 'SIGKILL'))
}

describe('transactions of workers killed with SIGKILL', () => {
  it(
    'happen once on SQLite, before the commit and after it',
    once({
      transport: 'sqlite',
      boundaries: [
        'before commit',
        'after commit',
        'after ack',
        'before commit',
        'after commit',
        'after ack',
      ],
    }),
  )
})

const BOUNDARIES = ['before commit', 'after commit', 'after ack', 'after publish'] as const

describeWith('postgres', 'transactions in PostgreSQL of workers killed with SIGKILL', (postgres) => {
  it(
    'happen once, at every durable boundary, the relay included',
    once({
      transport: 'sqlite',
      postgres,
      boundaries: [...BOUNDARIES, ...BOUNDARIES],
    }),
  )

  describeWith('amqp', 'with RabbitMQ', (transport) => {
    it('happen once beside RabbitMQ', once({ transport, postgres, boundaries: BOUNDARIES }))
  })

  describeWith('kafka', 'with Kafka', (url) => {
    const transport = kafkaUrl(url)
    it('happen once beside Kafka', once({ transport, postgres, boundaries: BOUNDARIES }))
  })
})

describeWith('amqp', 'transactions in the store file beside a real RabbitMQ', (transport) => {
  it(
    'happen once, with workers killed with SIGKILL',
    once({
      transport,
      boundaries: BOUNDARIES,
    }),
  )
})
