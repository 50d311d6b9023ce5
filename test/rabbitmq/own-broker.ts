import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe } from 'vitest'
import { end, firstProgram, identify, type Process, run } from '../services/processes.ts'
import { rabbitmq } from '../services/rabbitmq.ts'

/** A broker that belongs to one test, with its own `rabbitmqctl`: users and alarms of it touch nobody else. */
export interface OwnBroker {
  readonly url: string
  control(...args: string[]): Promise<string>
  close(): Promise<void>
}

const program = await rabbitmq.find()
// Debian's on the PATH changes the user, who has another cookie
const ctl = program && firstProgram([join(dirname(program.home), 'rabbitmqctl')])

export const describeOwnBroker = (title: string, body: () => void): void => {
  if (ctl && process.platform === 'linux') describe(title, body)
  else describe.skip(`${title} (skipped: rabbitmq-server with rabbitmqctl is not on this machine)`, body)
}

export const ownBroker = async (): Promise<OwnBroker> => {
  const dir = mkdtempSync(join(tmpdir(), 'reprieve-own-rabbitmq-'))
  const processes: Process[] = []
  const close = async (): Promise<void> => {
    for (const each of processes.toReversed()) await end(each)
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  }
  let url: string
  try {
    url = await rabbitmq.start(program!, dir, (pid, ask) => {
      const known = identify(pid, ask)
      if (known) processes.push(known)
    })
  } catch (error) {
    await close()
    throw error
  }
  // the first that was started is the one who knows the names of nodes
  const words = readFileSync(`/proc/${processes[0]!.pid}/cmdline`, 'utf8').split('\0')
  const env = {
    PATH: process.env.PATH,
    HOME: join(dir, 'home'),
    RABBITMQ_CONF_ENV_FILE: join(dir, 'none'),
    RABBITMQ_NODENAME: `r${new URL(url).port}@localhost`,
    ERL_EPMD_PORT: words[words.indexOf('-port') + 1],
  }
  return { url, close, control: (...args) => run(ctl!, args, { env, cwd: dir }) }
}
