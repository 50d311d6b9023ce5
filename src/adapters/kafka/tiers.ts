import type { Millis } from '../../core/time.ts'

/**
 * The retry topics of a consumer group, shortest first. Few on purpose: every tier is a topic for every
 * consumer group. A parcel goes to the shortest tier that covers its wait; within a partition records are
 * taken by due time as far as they fit in memory, so only a long queue makes one wait for the whole tier.
 */
export const TIERS = [
  { ms: 1_000, name: '1s' },
  { ms: 5_000, name: '5s' },
  { ms: 30_000, name: '30s' },
  { ms: 120_000, name: '2m' },
  { ms: 600_000, name: '10m' },
  { ms: 3_600_000, name: '1h' },
] as const

export const LONGEST: Millis = TIERS.at(-1)!.ms

const tierFor = (wait: Millis) => TIERS.find(({ ms }) => ms >= wait) ?? TIERS.at(-1)!

/** While other partitions are busy, quiet ones are looked at so often. */
export const GLANCE: Millis = 100

/** By how much a parcel may come late where the queue before it is long. */
export const late = (wait: Millis): Millis => Math.max(0, tierFor(wait).ms - Math.max(0, wait)) + GLANCE

export const retryTopic = (group: string, wait: Millis): string => `${group}.retry.${tierFor(wait).name}`

export const retryTopics = (group: string): readonly string[] =>
  TIERS.map(({ name }) => `${group}.retry.${name}`)

/** The consumer group of offices that take letters from there. */
export const officeGroup = (destination: string): string => `reprieve-office.${destination}`
