import { describe, expect, it } from 'vitest'
import type { BrokerResult, Fault } from './broker/run.ts'
import { complaints as ofRabbitmq } from './broker/verdict.ts'
import type { StormResult } from './kafka/storm.ts'
import { complaints as ofKafka } from './kafka/verdict.ts'

/** All went well, as far as anything happened. */
const WELL = {
  done: 98,
  dead: 2,
  missing: [],
  wrong: [],
  beyond: [],
  fell: [],
  doubled: 0,
  unexplained: 0,
  attempts: 120,
  calls: 3,
  granted: 5,
  published: 100,
  refused: 0,
  seconds: 1,
}

describe('a run with blows on RabbitMQ', () => {
  const blows: Fault[] = ['broker', 'consumer', 'joining', 'joining', 'confirm', 'confirm', 'ack']
  const asked = { broker: 1, consumer: 1, joining: 2, confirm: 2, ack: 1 }
  const judged = (less: Partial<BrokerResult['struck']>) => {
    const result = { ...WELL, left: [], leaving: 0, struck: { ...asked, ...less } }
    return ofRabbitmq(result, { events: 100, blows })
  }

  it('has nothing to answer for where all of them fell', () => {
    expect(judged({})).toEqual([])
  })

  it.each([
    ['broker', 0, 1],
    ['consumer', 0, 1],
    ['joining', 1, 2],
    ['confirm', 0, 2],
    ['ack', 0, 1],
  ] as const)('answers for blows that never fell: %s', (fault, fell, times) => {
    expect(judged({ [fault]: fell })).toEqual([`only ${fell} of ${times} blows fell: ${fault}`])
  })

  it('is excused half of the cuts: near the end there may be no such frame any more', () => {
    expect(judged({ confirm: 1 })).toEqual([])
  })
})

describe('a storm on Kafka', () => {
  const judged = (blows: number, least: number) => {
    const result: StormResult = { ...WELL, buriedTwice: 0, uncommitted: 0, killed: 0, blows, least }
    return ofKafka(result, { events: 100 })
  }

  it('has nothing to answer for where its blows fell, or where none was asked for', () => {
    expect([judged(2, 2), judged(5, 2), judged(0, 0)]).toEqual([[], [], []])
  })

  it('answers for blows that never fell', () => {
    expect(judged(0, 2)).toEqual(['only 0 blows fell, and with less than 2 it shows nothing'])
  })
})
