import type { Failure } from './failure.ts'
import type { DeathReason } from './letter.ts'
import type { Parcel } from './parcel.ts'
import type { Instant, Millis } from './time.ts'
import type { Trail } from './trail.ts'
import type { Verdict } from './verdict.ts'

/** How this transport does what the verdict asks: still a value, nothing has been done. */
export type Route =
  | { readonly do: 'ack' }
  | { readonly do: 'later'; readonly parcel: Parcel }
  /** The transport can't wait that long: the parcel moves to the companion, then the original is acknowledged. */
  | { readonly do: 'companion'; readonly parcel: Parcel }
  | {
      readonly do: 'bury'
      readonly to: string
      readonly reason: DeathReason
      readonly failure: Failure
      readonly trail: Trail
    }

export interface Ways {
  /** The longest wait the transport keeps in one go. */
  readonly later: Millis
  /** There is somebody who keeps longer ones. Without, they wait where they are, over and over until they are due. */
  readonly companion: boolean
  readonly deadLetter: string
  readonly quarantine: string
}

export const route = (verdict: Verdict, parcel: Parcel, ways: Ways, now: Instant): Route => {
  switch (verdict.do) {
    case 'done':
      return { do: 'ack' }
    case 'retry':
      return wait({ ...parcel, trail: verdict.trail, due: verdict.due }, ways, now)
    case 'hold':
      return wait({ ...parcel, due: verdict.due }, ways, now)
    case 'dead':
    case 'quarantine': {
      const { reason, failure, trail } = verdict
      const to = verdict.do === 'dead' ? ways.deadLetter : ways.quarantine
      return { do: 'bury', to, reason, failure, trail }
    }
  }
}

const wait = (parcel: Parcel, ways: Ways, now: Instant): Route => ({
  do: ways.companion && parcel.due - now > ways.later ? 'companion' : 'later',
  parcel,
})
