import { Command } from 'commander'
import { registerAudit } from './audit/command.ts'
import { registerDemo } from './demo/command.ts'
import { registerDlq } from './dlq/command.ts'
import { registerDoctor } from './doctor.ts'
import { registerHand } from './hand/command.ts'
import { withCommon } from './options.ts'
import { wantsJson } from './print/say.ts'
import { registerPublish } from './publish/command.ts'
import { registerRules } from './rules/command.ts'
import { registerRun } from './run.ts'
import { registerServe } from './serve.ts'
import { registerTrials } from './trials.ts'
import { version } from './version.ts'

export const createProgram = (): Command => {
  const program = withCommon(new Command('reprieve'))
    .description('Every failed event gets a second chance, and none is ever lost.')
    .version(version, '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show what a command can do')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', '\nExit codes: 0 fine, 1 found something wrong, 2 used wrongly.')
    // commands made after this inherit it
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => (wantsJson() ? undefined : write(text)),
    })
  registerDemo(program)
  registerRun(program)
  registerServe(program)
  registerPublish(program)
  registerDlq(program)
  registerHand(program)
  registerAudit(program)
  registerRules(program)
  registerDoctor(program)
  registerTrials(program)
  return program
}
