/** What one office of a process that is about to be killed is to do. */
export interface World {
  readonly name: string
  readonly store: string
  /** After so many durable steps, or so many of one name, it stands still. */
  readonly halt: { readonly nth: number; readonly of?: string }
  /** What it is to take over; where there is nothing, it replays all letters of its store. */
  readonly destinations: readonly string[]
}
