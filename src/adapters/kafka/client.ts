import { ReprieveError } from '../../core/error.ts'

export type { Admin, Consumer, Producer } from '@platformatic/kafka'

/** The client library, loaded when a URL asks for it. */
export type Client = typeof import('@platformatic/kafka')

/** A record as it is fetched: the members that we read. */
export interface RawRecord {
  readonly offsetDelta: number
  readonly timestampDelta: bigint
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly (readonly [Buffer | null, Buffer | null])[]
}

export interface RawBatch {
  readonly firstOffset: bigint
  readonly lastOffsetDelta: number
  readonly firstTimestamp: bigint
  readonly attributes: number
  readonly producerId: bigint
  readonly records: readonly RawRecord[]
}

export interface Aborted {
  readonly producerId: bigint
  readonly firstOffset: bigint
}

export interface FetchAnswer {
  readonly responses: readonly {
    readonly topicId: string
    readonly partitions: readonly {
      readonly partitionIndex: number
      readonly errorCode: number
      readonly highWatermark: bigint
      readonly lastStableOffset: bigint
      readonly abortedTransactions: readonly Aborted[] | null
      readonly records?: readonly RawBatch[] | null
    }[]
  }[]
}

export const loadClient = async (): Promise<Client> => {
  try {
    return await import('@platformatic/kafka')
  } catch (cause) {
    throw new ReprieveError('client_missing', 'kafka:// needs the package @platformatic/kafka', {
      fix: 'npm install @platformatic/kafka',
      cause,
    })
  }
}
