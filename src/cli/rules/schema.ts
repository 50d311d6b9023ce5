import type { Command } from 'commander'
import { jsonSchema } from '../../rules/index.ts'
import { action } from '../action.ts'
import { say } from '../print/say.ts'

export const registerSchema = (rules: Command): void => {
  rules
    .command('schema')
    .description('the JSON Schema of a rule book, for editors')
    .action(action(async () => say(JSON.stringify(jsonSchema(), null, 2))))
}
