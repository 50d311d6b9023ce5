import type { Command } from 'commander'
import type { Acting } from '../office/index.ts'
import type { Common } from './options.ts'

export interface ActingFlags extends Common {
  readonly reason?: string
}

/** What every act is asked for the audit. */
export const withActing = (command: Command): Command =>
  command
    .option('--as <name>', 'who does it, for the audit (else the user of this machine)')
    .option('--reason <text>', 'why, for the audit')

export const actingOf = ({ reason }: ActingFlags): Pick<Acting, 'reason'> =>
  reason === undefined ? {} : { reason }
