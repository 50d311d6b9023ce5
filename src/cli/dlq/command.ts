import type { Command } from 'commander'
import { registerDiscard } from './discard.ts'
import { registerList } from './list.ts'
import { registerReplay } from './replay.ts'
import { registerShow } from './show.ts'

export const registerDlq = (program: Command): void => {
  const dlq = program.command('dlq').description('dead letters: list, show, replay, discard')
  registerList(dlq)
  registerShow(dlq)
  registerReplay(dlq)
  registerDiscard(dlq)
}
