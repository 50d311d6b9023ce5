import { parseArgs } from 'node:util'
import { alone } from './cache.ts'
import { alive } from './processes.ts'
import { type Entry, openRoster, stop, sweep } from './roster.ts'
import { reasonOf, withoutPassword } from './say.ts'
import type { Outcome, Server } from './server.ts'
import { servers } from './servers.ts'
import { openSession } from './session.ts'
import { seconds, table } from './table.ts'

const USAGE = `Usage: npm run services -- up|down|status [--json] [${servers.map(({ name }) => name).join('] [')}]

  up      starts the servers, prints the variables that name them, and leaves them running
  down    stops what up started
  status  tells what is up (--json for programs)

In a shell: eval "$(npm run -s services -- up)"`

const roster = openRoster()

/** What `up` left running; a test run's own servers are its own affair. */
function standing(chosen: readonly Server[]): Entry[] {
  return roster.list().filter((entry) => !entry.owner && chosen.some(({ name }) => name === entry.name))
}

async function up(chosen: readonly Server[]): Promise<number> {
  const outcomes = await alone('up', async () => {
    const already = await Promise.all(chosen.map(reuse))
    const session = openSession(
      chosen.filter((_, i) => !already[i]),
      { roster },
    )
    const interrupt = async () => {
      await session.close()
      process.exit(130)
    }
    process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
    const started = await session.outcomes
    session.release()
    return chosen.map((server, i) => already[i] ?? started.find(({ name }) => name === server.name)!)
  })
  for (const outcome of outcomes) if (outcome.had) console.log(`export ${outcome.env}=${outcome.url}`)
  console.error(`\n${table(['service', 'version', 'how', 'ready in'], outcomes.map(outcomeRow))}`)
  return outcomes.every(({ had }) => had) ? 0 : 1
}

/** The one that is up already, if it answers; else it is cleared away. A named server needs neither. */
async function reuse(server: Server): Promise<Outcome | undefined> {
  if (process.env[server.env]) return undefined
  for (const entry of standing([server])) {
    const { name, env, url, version, how } = entry
    if (url && (await stateOf(entry, server)) === 'up') {
      return { had: true, name, env, url, version, how, readyMs: 0 }
    }
    await stop(entry, roster)
  }
  return undefined
}

function outcomeRow(outcome: Outcome): string[] {
  return outcome.had
    ? [
        outcome.name,
        outcome.version,
        outcome.how,
        outcome.readyMs === 0 ? 'was up' : seconds(outcome.readyMs),
      ]
    : [outcome.name, '', `not had: ${outcome.reason}`]
}

async function down(chosen: readonly Server[]): Promise<number> {
  await sweep(roster)
  const entries = standing(chosen)
  await Promise.all(
    entries.map(async (entry) => {
      const begun = performance.now()
      await stop(entry, roster)
      console.log(`${entry.name} stopped in ${seconds(performance.now() - begun)}`)
    }),
  )
  if (entries.length === 0) console.log('nothing was up')
  return 0
}

type State = 'up' | 'silent' | 'dead'

async function stateOf(entry: Entry, server: Server): Promise<State> {
  if (!entry.processes.every(alive)) return 'dead'
  return server.ping(entry.url ?? '').then(
    () => 'up',
    () => 'silent',
  )
}

async function status(chosen: readonly Server[], json: boolean): Promise<number> {
  const found = await Promise.all(
    chosen.map(async (server) => {
      const entry = standing([server])[0]
      return {
        name: server.name,
        env: server.env,
        state: entry ? await stateOf(entry, server) : 'down',
        entry,
      }
    }),
  )
  if (json) {
    const plain = found.map(({ entry, ...rest }) => {
      const { url, version, how, since, dir, processes } = entry ?? {}
      return { ...rest, url, version, how, since, dir, pids: processes?.map(({ pid }) => pid) }
    })
    console.log(JSON.stringify(plain, null, 2))
    return 0
  }
  const rows = found.map(({ name, state, entry }) => [
    name,
    state,
    entry?.version ?? '',
    withoutPassword(entry?.url ?? ''),
    entry?.processes.map(({ pid }) => pid).join(' ') ?? '',
    entry?.since.slice(0, 19).replace('T', ' ') ?? '',
  ])
  console.log(table(['service', 'state', 'version', 'url', 'pids', 'since (UTC)'], rows))
  return 0
}

class UsageError extends Error {}

function choose(names: readonly string[]): readonly Server[] {
  const known = servers.map(({ name }) => name)
  const strange = names.find((name) => !known.includes(name))
  if (strange) throw new UsageError(`there is no service '${strange}'; there are: ${known.join(', ')}`)
  return names.length === 0 ? servers : servers.filter(({ name }) => names.includes(name))
}

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArgs(args)
  const [command, ...names] = positionals
  if (values.help) {
    console.log(USAGE)
    return 0
  }
  if (command === 'up') return up(choose(names))
  if (command === 'down') return down(choose(names))
  if (command === 'status') return status(choose(names), values.json)
  throw new UsageError(command ? `there is no command '${command}'` : 'a command is missing')
}

function readArgs(args: readonly string[]) {
  try {
    const options = {
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    } as const
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    throw new UsageError(reasonOf(error))
  }
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(`services: ${error.message}\n\n${USAGE}`)
  process.exitCode = 2
}
