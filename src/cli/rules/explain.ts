import type { Command } from 'commander'
import { loadBook } from '../../book.ts'
import { explain, explainService, explainText, rulesFor, serviceRules } from '../../rules/index.ts'
import { action, type Ended } from '../action.ts'
import { bookFile, type Common } from '../options.ts'
import { inertLines } from '../print/inert.ts'
import { calmOnStderr } from '../print/paint.ts'
import { remark, say, sayJson } from '../print/say.ts'

export const registerExplain = (rules: Command): void => {
  rules
    .command('explain')
    .description('what holds for one service and one event, and where that is written')
    .argument('<service>')
    .argument('<event>', "the event's type")
    .action(action(explainOne))
}

const explainOne = async (flags: Common, service: string, event: string): Promise<Ended> => {
  const book = await loadBook(bookFile(flags))
  const rules = rulesFor(book, service, event)
  const whole = serviceRules(book, service)
  if (flags.json) return sayJson({ ...explain(rules), consumer: explainService(whole) })
  say(inertLines(explainText(rules, whole)))
  if (rules.covered === 'default')
    remark(calmOnStderr('\nno rule book names this pair: these are the defaults'))
}
