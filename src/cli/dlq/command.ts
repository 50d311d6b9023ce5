import type { Command } from 'commander'
import { registerList } from './list.ts'
import { registerReplay } from './replay.ts'
import { registerShow } from './show.ts'

export const registerDlq = (program: Command): void => {
  const dlq = program.command('dlq').description('dead letters: list, show, replay')
  registerList(dlq)
  registerShow(dlq)
  registerReplay(dlq)
}
