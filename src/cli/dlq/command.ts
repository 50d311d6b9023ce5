import type { Command } from 'commander'
import { registerAlerts } from './alerts.ts'
import { registerDiff } from './diff.ts'
import { registerDiscard } from './discard.ts'
import { registerExport } from './export.ts'
import { registerGroups } from './groups.ts'
import { registerImport } from './import.ts'
import { registerList } from './list.ts'
import { registerOperations } from './operations.ts'
import { registerPurge } from './purge.ts'
import { registerRelease } from './release.ts'
import { registerRepair } from './repair.ts'
import { registerReplay } from './replay.ts'
import { registerResolve } from './resolve.ts'
import { registerRestore } from './restore.ts'
import { registerShow } from './show.ts'
import { registerStats } from './stats.ts'
import { registerTend } from './tend.ts'

export const registerDlq = (program: Command): void => {
  const dlq = program
    .command('dlq')
    .description('dead letters: find, understand, edit, replay, resolve, discard')
  registerGroups(dlq)
  registerStats(dlq)
  registerAlerts(dlq)
  registerList(dlq)
  registerShow(dlq)
  registerTend(dlq)
  registerRepair(dlq)
  registerDiff(dlq)
  registerReplay(dlq)
  registerOperations(dlq)
  registerPurge(dlq)
  registerRelease(dlq)
  registerResolve(dlq)
  registerDiscard(dlq)
  registerRestore(dlq)
  registerExport(dlq)
  registerImport(dlq)
}
