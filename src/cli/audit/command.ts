import type { Command } from 'commander'
import { registerList } from './list.ts'
import { registerVerify } from './verify.ts'

export const registerAudit = (program: Command): void => {
  const audit = program.command('audit').description('who did what by hand: list, verify')
  registerList(audit)
  registerVerify(audit)
}
