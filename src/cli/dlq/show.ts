import type { Command } from 'commander'
import { toEnvelope } from '../../core/letter.ts'
import { action, type Ended } from '../action.ts'
import type { Common } from '../options.ts'
import { say, sayJson } from '../print/say.ts'
import { wholeIds } from './find.ts'
import { letterText } from './letter.ts'
import { openOffice } from './office.ts'

export const registerShow = (dlq: Command): void => {
  dlq
    .command('show')
    .description('show a dead letter with its whole story')
    .argument('<id>', 'its id, or the beginning of it')
    .action(action(show))
}

const show = async (flags: Common, typed: string): Promise<Ended> => {
  await using opened = await openOffice(flags)
  const { office } = opened.app
  const [id] = await wholeIds(office, [typed])
  const kept = await office.show(id!)
  const behind = await office.behind(kept.letter)
  if (flags.json) sayJson({ ...toEnvelope(kept.letter), state: kept.state, behind })
  else say(letterText(kept, behind))
}
