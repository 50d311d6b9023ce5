import type { Command } from 'commander'
import { registerExplain } from './explain.ts'
import { registerLint } from './lint.ts'
import { registerRender } from './render.ts'
import { registerSchema } from './schema.ts'

export const registerRules = (program: Command): void => {
  const rules = program.command('rules').description('the rule book: explain, lint, render, schema')
  registerExplain(rules)
  registerLint(rules)
  registerRender(rules)
  registerSchema(rules)
}
