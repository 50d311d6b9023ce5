import { describe, it, onTestFinished } from 'vitest'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { describeOwn, ownPostgres } from '../stores/own-server.ts'
import { ownSchema } from '../stores/postgres.ts'
import { keepsOrder } from './order/killed.ts'
import { orderTest } from './order/run.ts'
import { told } from './order/told.ts'
import { PATIENCE } from './patience.ts'

describe('order by key with a worker killed in mid-flow', () => {
  it('is kept on SQLite', keepsOrder('sqlite'))
})

describeWith('kafka', 'order by key with a worker killed in mid-flow, on a real Kafka', (url) => {
  it('is kept beside Kafka', keepsOrder(kafkaUrl(url)))
})

describeWith('postgres', 'order by key with a worker killed in mid-flow, in a real PostgreSQL', (url) => {
  it('is kept on PostgreSQL', () => {
    const place = ownSchema(url)
    return keepsOrder(place, place)()
  })

  describeWith('kafka', 'beside a real Kafka', (kafka) => {
    it('is kept with PostgreSQL beside Kafka', () => keepsOrder(kafkaUrl(kafka), ownSchema(url))())
  })
})

describeOwn('postgres', 'order by key with PostgreSQL killed in mid-flow', () => {
  describeWith('kafka', 'beside a real Kafka', (kafka) => {
    it('is kept beside Kafka when PostgreSQL is killed and started again', async () => {
      const server = await ownPostgres()
      onTestFinished(() => server.close())
      const blow = async () => {
        await server.kill()
        await server.start()
      }
      const run = { events: 600, keys: 25, kills: 2, patience: PATIENCE }
      await told('the PostgreSQL beside Kafka killed', run, (asked) =>
        orderTest({ ...asked, transport: kafkaUrl(kafka), store: server.url, blow }),
      )
    })
  })
})
