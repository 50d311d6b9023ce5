import type { Tools } from './contracts/tools.ts'
import type { Destination } from './contracts/transport.ts'
import type { Millis } from './core/time.ts'
import type { Office } from './office/index.ts'

/** Services may start after the office, and bury where nobody did before: so often it is looked where that is. */
const LOOK: Millis = 10_000

/** Until the signal aborts. What goes wrong is told once, and tried again. */
export const serveOffice = async (
  office: Pick<Office, 'open'>,
  known: () => Promise<readonly Destination[]>,
  { clock, journal }: Tools,
  stop: AbortSignal,
): Promise<void> => {
  let quiet = true
  for (await clock.sleep(LOOK, stop); !stop.aborted; await clock.sleep(LOOK, stop)) {
    try {
      await office.open(await known())
      quiet = true
    } catch (error) {
      const where = 'looking where dead letters lie'
      if (quiet) journal({ at: clock.now(), is: 'trouble', where, error: error as Error, retryIn: LOOK })
      quiet = false
    }
  }
}
