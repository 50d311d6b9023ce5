/** What the member asks of the consumer group it is for. */
export interface Host {
  /** Those that it can have: without the ones that are withheld. */
  topics(): readonly string[]
  /** Stuck records stay where they are: nothing of the group moves them. */
  readonly squeezes: boolean
  carriesParcels(topic: string): boolean
  /** The most records of the topic that may be out at once. */
  window(topic: string): number
  /** Makes sure that its topics are there, or finds out which are withheld; `anew`: even where that was seen before. */
  ensure(anew: boolean): Promise<void>
}
