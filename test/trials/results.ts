import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Can } from '../../src/contracts/transport.ts'
import type { TrialResult } from '../../src/testing/trials/index.ts'

const FOLDER = join(import.meta.dirname, '../../.tmp/trials')

/** What a run of one adapter's trials showed: no durations, so that it is the same each time. */
export interface Kept {
  /** Nothing where it is no transport. */
  readonly can: Readonly<Record<string, string>>
  readonly results: readonly {
    readonly name: string
    readonly about: string
    readonly is: TrialResult['is']
    readonly reason?: string
  }[]
}

export const keepResults = (adapter: string, can: Can | undefined, results: readonly TrialResult[]): void => {
  const kept: Kept = {
    can: can ? inWords(can) : {},
    results: results.map((result) => ({
      name: result.name,
      about: result.about,
      is: result.is,
      ...(result.is === 'skipped' && { reason: result.reason }),
    })),
  }
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, `${adapter}.json`), `${JSON.stringify(kept, null, 2)}\n`)
}

export const keptResults = (adapter: string): Kept | undefined => {
  try {
    return JSON.parse(readFileSync(join(FOLDER, `${adapter}.json`), 'utf8')) as Kept
  } catch {
    return undefined
  }
}

const inWords = (can: Can): Kept['can'] => ({
  later: can.later === Number.POSITIVE_INFINITY ? 'any wait' : `up to ${span(can.later)}`,
  late: lateness(can),
  order: can.order,
  lease: yes(can.lease),
  except: yes(can.except),
  claims: yes(can.claims),
  patterns: yes(can.patterns),
  fresh: yes(can.fresh),
  urgent: yes(can.urgent),
  unheard: can.unheard,
})

const lateness = ({ late }: Can): string => {
  const waits = [0, 300, 1000, 30_000]
  if (new Set(waits.map(late)).size === 1) return span(late(0))
  return waits.map((ms) => `${span(late(ms))} after ${ms ? `a wait of ${span(ms)}` : 'none'}`).join(', ')
}

const yes = (flag: boolean): string => (flag ? 'yes' : 'no')

const span = (ms: number): string => {
  if (ms >= 3_600_000 && ms % 3_600_000 === 0) return `${ms / 3_600_000} h`
  if (ms >= 60_000 && ms % 60_000 === 0) return `${ms / 60_000} min`
  return ms >= 1000 && ms % 100 === 0 ? `${ms / 1000} s` : `${Math.round(ms)} ms`
}
