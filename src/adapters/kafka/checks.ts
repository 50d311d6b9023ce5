import type { Finding } from '../../contracts/doctor.ts'

/** What the doctor looks at. */
export const CHECKS = [
  'kafka-version',
  'kafka-brokers',
  'kafka-permissions',
  'kafka-coordinator',
  'kafka-offsets',
  'kafka-session',
  'kafka-transactions',
  'kafka-hanging',
  'kafka-partitions',
  'kafka-auto-create',
  'kafka-missing',
  'kafka-leader',
  'kafka-replication',
  'kafka-retention',
  'kafka-compaction',
  'kafka-size',
  'kafka-flush',
  'kafka-clock',
  'kafka-foreign',
] as const
export type Found = Finding<(typeof CHECKS)[number]>

/** A topic, what it is for, and how long what lies there must last. */
export interface NeededTopic {
  readonly name: string
  readonly as: 'source' | 'retry' | 'destination'
  readonly partitions: number
  readonly keep: number
  /** Why so long, in words. */
  readonly because: string
  /** Of a retry or a destination: where its records come from. */
  readonly from?: string
}
