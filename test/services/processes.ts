import { execFileSync, spawn } from 'node:child_process'
import { accessSync, closeSync, constants, openSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A pid together with its birth: pids are used again, and a stranger must never get our signal. */
export interface Process {
  readonly pid: number
  readonly born: string
  /** What asks it to end in good order, where that is not SIGTERM. */
  readonly ask?: NodeJS.Signals
}

export function identify(pid: number, ask?: NodeJS.Signals): Process | undefined {
  const born = birth(pid)
  return born === undefined ? undefined : { pid, born, ...(ask && { ask }) }
}

export function alive(process: Process): boolean {
  return birth(process.pid) === process.born
}

/** Undefined for the dead, and for zombies: where pid 1 does not reap, they stay for ever. */
function birth(pid: number): string | undefined {
  try {
    if (process.platform !== 'linux') {
      const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
      return line === '' || line.startsWith('Z') ? undefined : line.replace(/^\S+\s+/, '')
    }
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : `${boot}-${fields[19]}`
  } catch {
    return undefined
  }
}

/** Asks it to end, waits, and insists. */
export async function end(target: Process, patienceMs = 15_000): Promise<void> {
  for (const [signal, wait] of [
    [target.ask ?? 'SIGTERM', patienceMs],
    ['SIGKILL', 5_000],
  ] as const) {
    if (!alive(target)) return
    try {
      process.kill(target.pid, signal)
    } catch {
      return
    }
    const deadline = performance.now() + wait
    while (alive(target) && performance.now() < deadline) await sleep(20)
  }
}

/** Starts a server in a session of its own (a Ctrl-C meant for us must not reach it), its output in `dir`. */
export function launch(
  dir: string,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): number {
  const log = openSync(join(dir, 'out.log'), 'a')
  try {
    const child = spawn(command, args, { cwd: dir, env, detached: true, stdio: ['ignore', log, log] })
    child.on('error', () => {}) // no pid then, which is told below
    child.unref()
    if (child.pid === undefined) throw new Error(`${command} could not be started`)
    return child.pid
  } finally {
    closeSync(log)
  }
}

/** Runs a command to its end and gives what it printed; a failure throws with the last line that says why. */
export function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
) {
  return new Promise<string>((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', (data) => (output += data))
    child.stderr.on('data', (data) => (output += data))
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(output)
      const lines = output.trim().split('\n')
      const why = lines.find((line) => /^(E:|\[ERROR\])/.test(line)) ?? lines.at(-1) ?? ''
      reject(new Error(`${command} ${args[0] ?? ''} ended with ${signal ?? code}: ${why}`))
    })
  })
}

export function onPath(program: string): string | undefined {
  return firstProgram((process.env.PATH ?? '').split(delimiter).map((folder) => join(folder || '.', program)))
}

export function firstProgram(paths: readonly string[]): string | undefined {
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** Asks again and again until there is an answer; gives up when `pid` has died or the time is over. */
export async function untilAnswer(
  ask: () => Promise<unknown>,
  pid: number,
  patienceMs = 170_000,
): Promise<void> {
  const process = identify(pid)
  const deadline = performance.now() + patienceMs
  for (;;) {
    try {
      await ask()
      return
    } catch (error) {
      if (!process || !alive(process)) throw new Error('it ended before it answered')
      if (performance.now() > deadline) {
        throw new Error(`no answer in ${patienceMs / 1000} s`, { cause: error })
      }
      await sleep(50)
    }
  }
}
