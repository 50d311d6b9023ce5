import { open } from '../../src/adapters/memory/index.ts'
import type { Ledger } from '../../src/contracts/ledger.ts'
import type { Inlet } from '../../src/contracts/transport.ts'
import { readRules } from '../../src/rules/index.ts'
import { type App, createApp } from '../../src/runtime/app.ts'
import { createFaults, faultyLedger } from '../../src/testing/faults.ts'
import type { TestTools } from '../../src/testing/tools.ts'

/** A process that can die in the middle of anything: nothing it awaits ever comes back. */
export interface Mortal {
  readonly app: App
  readonly dead: boolean
  /** Never resolves, for handlers to die with. */
  die(): Promise<never>
}

export const never = new Promise<never>(() => {})

/** On a world of memory that outlives it, in virtual time. */
export const mortal = async (
  world: string,
  yaml: string,
  tools: TestTools,
  faults = createFaults(),
): Promise<Mortal> => {
  const death = new AbortController()
  const alive =
    <A extends readonly unknown[], T>(go: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      if (death.signal.aborted) return never
      const value = await go(...args)
      return death.signal.aborted ? never : value
    }
  const clock = { ...tools.clock, sleep: alive(tools.clock.sleep) }
  const opened = await open(`memory:${world}`, { ...tools, clock })
  const inletOf = (inlet: Inlet): Inlet => ({
    ...inlet,
    receive: alive((max, signal, except) =>
      inlet.receive(max, AbortSignal.any([signal, death.signal]), except),
    ),
    settle: alive(inlet.settle),
    extend: alive(inlet.extend),
  })
  const ledgerOf = (ledger: Ledger): Ledger => ({
    claim: alive(ledger.claim),
    begin: alive(ledger.begin),
    renew: alive(ledger.renew),
    acquit: alive(ledger.acquit),
    finish: alive(ledger.finish),
  })
  const app = createApp({
    book: readRules(yaml, 'reprieve.yaml', {}),
    transport: {
      ...opened.transport,
      subscribe: async (to) => inletOf(await opened.transport.subscribe(to)),
    },
    store: {
      ...opened.store!,
      letters: opened.store!.letters!,
      audit: opened.store!.audit!,
      ledger: faultyLedger(ledgerOf(opened.store!.ledger), faults),
    },
    tools: { ...tools, clock },
  })
  return {
    app,
    get dead() {
      return death.signal.aborted
    },
    die: () => {
      death.abort()
      return never
    },
  }
}
