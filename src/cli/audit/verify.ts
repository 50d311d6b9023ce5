import type { Command } from 'commander'
import type { BreakKind } from '../../core/audit.ts'
import { action, type Ended } from '../action.ts'
import type { Common } from '../options.ts'
import { bad, good } from '../print/paint.ts'
import { say, sayJson } from '../print/say.ts'
import { openAudit } from './open.ts'

interface VerifyFlags extends Common {
  readonly head?: string
}

export const registerVerify = (audit: Command): void => {
  audit
    .command('verify')
    .description('find out whether anything in the audit was changed, removed, added or cut off')
    .option('--head <hash>', 'a head written down earlier, elsewhere: it must still be in the chain')
    .action(action(verify))
}

const verify = async (flags: VerifyFlags): Promise<Ended> => {
  await using app = await openAudit(flags)
  const verified = await app.audit.verify(flags.head === undefined ? {} : { head: flags.head })
  const { broken, count, head } = verified
  if (flags.json) sayJson({ intact: !broken, ...verified })
  else if (broken) say(`${bad('broken')} at entry ${broken.seq}: ${broken.kind}: ${MEANS[broken.kind]}`)
  else say(`${good('intact')}, ${count} ${count === 1 ? 'entry' : 'entries'}, head ${head}`)
  return broken ? 1 : 0
}

const MEANS: Readonly<Record<BreakKind, string>> = {
  changed: 'it is not as it was written',
  gap: 'it is missing, and entries after it are there',
  order: 'its number is not one that can follow the entry before',
  unlinked: 'it was written after another entry than the one before it',
  cut: 'it is missing, and all after it: the chain ends before the head that was kept',
  added: 'it was added behind the head that was kept',
  head: 'the head that was kept is gone or is not its hash',
  rewritten: 'no entry up to this one has the hash that was given: the chain was written anew, or cut',
}
