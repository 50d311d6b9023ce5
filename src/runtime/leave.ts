import type { Ledger } from '../contracts/ledger.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Delivery, Inlet } from '../contracts/transport.ts'
import type { Bag } from './bag.ts'
import { heldBy } from './claims.ts'

/** Of a door, what is left when its service leaves. */
interface Leaving {
  readonly out: Bag<Delivery>
  readonly ledger: Ledger | undefined
}

/** One that can't be closed must not keep the others, and the process, from leaving: its deliveries come back anyway. */
export const closeInlet = async (inlet: Inlet, name: string, { clock, journal }: Tools): Promise<void> => {
  try {
    await inlet.close()
  } catch (error) {
    journal({ at: clock.now(), is: 'trouble', where: `closing an inlet of ${name}`, error: error as Error })
  }
}

/** What never began goes back with its inlet's close; its claim must not look like a crash. */
export const releaseClaims = async ({ out, ledger }: Leaving, { clock, journal }: Tools): Promise<void> => {
  const held = out.values().flatMap(heldBy)
  if (!ledger || held.length === 0) return
  try {
    await ledger.finish(held.map((each) => ({ held: each, as: 'free' as const })))
  } catch (error) {
    // they run out by themselves; a ledger that is down must not keep the service from leaving
    journal({ at: clock.now(), is: 'trouble', where: 'releasing claims', error: error as Error })
  }
}
