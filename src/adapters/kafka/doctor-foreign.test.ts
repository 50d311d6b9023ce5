import { Admin } from '@platformatic/kafka'
import { afterAll, expect, it } from 'vitest'
import { makeTopic } from '../../../test/kafka/make-topic.ts'
import { describeWith, kafkaUrl } from '../../../test/services/urls.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { doctor } from './index.ts'

const dice = systemDice()
const tools = { clock: systemClock, dice, journal: () => {} }
const HOUR = 3_600_000
const KEEP = 7 * 24 * HOUR

describeWith('kafka', 'the doctor of foreign topics on Kafka', (named) => {
  const url = kafkaUrl(named)
  const admin = new Admin({
    clientId: 'doctor-test',
    bootstrapBrokers: url.replace('kafka://', '').split(','),
  })
  const made: string[] = []
  afterAll(async () => {
    if (made.length > 0) await admin.deleteTopics({ topics: made })
    await admin.close()
  })

  const create = async (settings: Readonly<Record<string, string>>): Promise<string> => {
    const topic = `foreign-${dice.uuid()}`
    await makeTopic(admin, topic, { settings })
    made.push(topic)
    return topic
  }
  const examine = async (...names: string[]) => {
    const foreign = names.map((name) => ({ name, keep: KEEP }))
    const findings = await doctor.examine(url, { subscriptions: [], foreign }, tools)
    return findings.filter(({ check }) => check === 'kafka-foreign')
  }

  it('one that keeps its records for a week is fine', async () => {
    expect(await examine(await create({ 'retention.ms': String(KEEP) }))).toEqual([
      expect.objectContaining({ level: 'fine', what: expect.stringMatching(/^1 are there/) }),
    ])
  })

  it('one that is missing, forgets soon or keeps only the last of a key is told, and nothing is made', async () => {
    const missing = `foreign-${dice.uuid()}`
    const hasty = await create({ 'retention.ms': String(HOUR) })
    const small = await create({ 'retention.ms': '-1', 'retention.bytes': '1000' })
    const compacted = await create({ 'cleanup.policy': 'compact' })
    const found = await examine(missing, hasty, small, compacted)
    expect(found.map(({ level, where, what }) => `${level} ${where} ${what}`)).toEqual([
      expect.stringMatching(`^risky ${missing} it is not there`),
      expect.stringMatching(`^risky ${hasty} retention.ms is 1 hour, and an office may be away for 7 days`),
      expect.stringMatching(`^risky ${small} retention.bytes is 1000`),
      expect.stringMatching(`^wrong ${compacted} cleanup.policy is compact`),
    ])
    expect(await admin.listTopics()).not.toContain(missing)
  })
})
