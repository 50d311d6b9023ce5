import { seconds } from '../services/table.ts'

/** What is run before every commit must not be waited for. */
export const MOST_CHECK = 30_000

/** How long `npm run check` took, with a warning where that is too long. */
export const tookOf = (ms: number): string =>
  ms <= MOST_CHECK ? seconds(ms) : `${seconds(ms)}: warning, more than ${seconds(MOST_CHECK)}`
