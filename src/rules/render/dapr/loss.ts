/** Something that the rule book says and Dapr can't do, or does otherwise. */
export interface Loss {
  /** Where in the rendered documents, or in the book. */
  readonly at: string
  readonly lost: string
  readonly because: string
}

export const showLoss = ({ at, lost, because }: Loss): string => `${at} loses ${lost}: ${because}`

/** What no Resiliency document can say, whatever the book holds. */
export const ALWAYS: readonly Loss[] = [
  {
    at: 'retries',
    lost: 'Retry-After',
    because: "Dapr does not read it; a dependency that asks for time is retried by the policy's delays",
  },
  {
    at: 'retries',
    lost: 'categories',
    because:
      'Dapr knows status codes, no errors: what has no status is retried whatever it is, and unknown failures as often as transient ones',
  },
  {
    at: 'deadLetterTopic',
    lost: "the letter's envelope, its reason and its attempts",
    because: 'Dapr publishes the bare event there',
  },
  {
    at: 'document',
    lost: 'idempotency, poison and quarantine, retention of dead letters, alerts, order, time to live',
    because: 'Dapr has no place for them; a service that runs under Reprieve keeps them itself',
  },
]
