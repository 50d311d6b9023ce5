import type { Command } from 'commander'
import { registerExplain } from './explain.ts'

export const registerRules = (program: Command): void => {
  const rules = program.command('rules').description('the rule book: explain')
  registerExplain(rules)
}
