import { type FaultProxy, openProxy } from '../faults/proxy.ts'
import { freePorts } from '../services/ports.ts'
import { type OwnKafka, ownKafka } from './own-kafka.ts'
import { openShears, type Shears } from './shears.ts'

/** A broker of its own, all of whose connections go through a wire that can be disturbed and cut at a chosen moment. */
export interface WiredKafka {
  readonly kafka: OwnKafka
  readonly wire: FaultProxy
  readonly shears: Shears
  close(): Promise<void>
}

export const wiredKafka = async (): Promise<WiredKafka> => {
  const [port, between] = (await freePorts(2)) as [number, number]
  const shears = openShears()
  const wire = await openProxy(`127.0.0.1:${port}`, { port: between, tap: shears.tap })
  try {
    const kafka = await ownKafka({ ports: [port], advertised: [wire.url] })
    const close = async () => {
      await wire.close()
      await kafka.close()
    }
    return { kafka, wire, shears, close }
  } catch (error) {
    await wire.close()
    throw error
  }
}
