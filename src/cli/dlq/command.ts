import type { Command } from 'commander'
import { registerDiscard } from './discard.ts'
import { registerGroups } from './groups.ts'
import { registerList } from './list.ts'
import { registerRelease } from './release.ts'
import { registerReplay } from './replay.ts'
import { registerShow } from './show.ts'
import { registerStats } from './stats.ts'
import { registerTend } from './tend.ts'

export const registerDlq = (program: Command): void => {
  const dlq = program.command('dlq').description('dead letters: find, understand, replay, discard')
  registerGroups(dlq)
  registerStats(dlq)
  registerList(dlq)
  registerShow(dlq)
  registerTend(dlq)
  registerReplay(dlq)
  registerRelease(dlq)
  registerDiscard(dlq)
}
