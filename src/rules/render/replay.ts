import { showDuration } from '../duration.ts'
import type { Rules } from '../rules.ts'
import { code, grid } from './markdown.ts'
import { reprocessingWords } from './phrases.ts'
import type { Topology } from './topology.ts'

const commands = (lines: readonly string[]): string => ['```sh', ...lines, '```'].join('\n')

/** How dead letters are brought back, with the commands as they are typed. */
export const replayProcedure = ({ doors, destinations }: Topology): readonly string[] => {
  const services = [...new Set(doors.map(({ service }) => service))]
  const [example = 'notification-svc'] = services
  const rowsOf = Map.groupBy(
    doors.flatMap(({ rows }) => rows),
    ({ deadLetter }) => deadLetter.destination,
  )
  const ends = destinations.filter(({ is }) => is === 'dead letters')
  return [
    '1. Look at what lies there, the newest first. One cause behind many is mended once.',
    commands(services.map((service) => `reprieve dlq list --service ${service}`)),
    '2. Read the whole story of one: every attempt, the failure, the event as it came.',
    commands(['reprieve dlq show <id>']),
    '3. Mend the cause: the dependency, the handler, or an override in the rule book. Replaying before that makes the same letters again.',
    '4. Replay one, and wait to hear how it ended.',
    commands(['reprieve dlq replay <id> --wait 30s']),
    '5. When it is resolved, replay the others: what was transient first, then the rest of the service. A replay goes to the service that failed and to no other; sent twice it has one effect.',
    commands([
      `reprieve dlq replay --service ${example} --category transient --wait 5m`,
      `reprieve dlq replay --service ${example} --wait 5m`,
    ]),
    '6. See what died again. The exit code of a replay is 1 as long as something did, or is still on the way.',
    commands([`reprieve dlq list --service ${example} --state 'dead again'`]),
    ...held(doors),
    ...scheduled(doors),
    'How each destination is worked off:',
    grid(
      ['destination', 'of', 'reprocessing', 'kept in the office'],
      ends.map(({ name, services: of, retention }) => [
        code(name),
        of.map(code).join(', '),
        strategies(rowsOf.get(name) ?? []),
        showDuration(retention),
      ]),
    ),
  ]
}

const strategies = (rows: readonly Rules[]): string =>
  [...new Set(rows.map(({ deadLetter }) => reprocessingWords(deadLetter.reprocessing)))].join('; ')

/** Where a dead letter may hold up others, that comes first. */
const held = (doors: Topology['doors']): readonly string[] => {
  const holding = doors.filter(({ rows }) =>
    rows.some(({ order, afterDeath }) => order === 'key' && afterDeath === 'hold'),
  )
  const services = [...new Set(holding.map(({ service }) => service))]
  if (services.length === 0) return []
  return [
    `A dead letter of ${services.map(code).join(', ')} may hold up what comes after it with its order key; \`dlq show\` tells how many wait. They go on in order when it is resolved, or given up:`,
    commands(['reprieve dlq discard <id> --reason "…"']),
  ]
}

/** Those that are worked off by a schedule, with what it is to run. */
const scheduled = (doors: Topology['doors']): readonly string[] => {
  const automatic = doors.filter(({ rows }) =>
    rows.some(({ deadLetter }) => deadLetter.reprocessing === 'automatic'),
  )
  const services = [...new Set(automatic.map(({ service }) => service))]
  if (services.length === 0) return []
  return [
    'Run by a schedule, every hour for instance, for what is worked off automatically:',
    commands(services.map((service) => `reprieve dlq replay --service ${service} --category transient`)),
  ]
}
