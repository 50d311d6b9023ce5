import type { Category, Kind } from './failure.ts'
import type { Millis } from './time.ts'

/** What one rule of the tree makes of one error. */
export interface Finding {
  readonly category: Category
  readonly kind: Kind
  readonly because: string
  readonly retryAfter?: Millis | undefined
  /** It says only that something below went wrong: whatever the cause says is better. */
  readonly weak?: boolean
}

export const finding = (what: string, category: Category, kind: Kind = 'integration'): Finding => ({
  category,
  kind,
  because: `${what} is ${category}`,
})
