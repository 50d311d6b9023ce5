/**
 * The first `metadata.version` of each release: as Kafka numbers them, from 3.3 on. No request tells a broker's release itself,
 * but each broker tells the newest of these that it knows.
 */
const FIRST_LEVELS: readonly (readonly [level: number, release: string])[] = [
  ...([
    [7, '3.3'],
    [8, '3.4'],
    [9, '3.5'],
    [12, '3.6'],
    [15, '3.7'],
    [20, '3.8'],
    [21, '3.9'],
  ] as const),
  ...([
    [22, '4.0'],
    [26, '4.1'],
    [28, '4.2'],
    [30, '4.3'],
  ] as const),
]
/** Later ones belong to releases that are not in the table yet. */
const LAST_LEVEL = 30

interface Feature {
  readonly name: string
  readonly maxVersion: number
}

/** undefined where that can't be told. */
export const releaseBy = (features: readonly Feature[]): string | undefined => {
  const level = features.find(({ name }) => name === 'metadata.version')?.maxVersion
  if (level === undefined || level > LAST_LEVEL) return undefined
  return FIRST_LEVELS.findLast(([first]) => first <= level)?.[1]
}
