import type { RuleBook } from '../../book.ts'

type Dapr = RuleBook['dapr']
export type Component = NonNullable<Dapr['components']>[string]

/** What the book says of its kind; else what its name says. */
export const isPubsub = (dapr: Dapr, name: string): boolean => {
  const kind = dapr.components?.[name]?.kind
  return kind === undefined ? name === dapr.pubsub || /pub-?sub/i.test(name) : kind === 'pubsub'
}

/** The pub/sub component that carries the subscriptions: the one the book names, or the first there is. */
export const pubsubOf = (dapr: Dapr): string | undefined =>
  dapr.pubsub ?? Object.keys(dapr.components ?? {}).find((name) => isPubsub(dapr, name))
