import type { Command } from 'commander'
import { systemClock } from '../../adapters/system/clock.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Millis } from '../../core/time.ts'
import type { Hand } from '../../office/index.ts'
import type { Reprieve } from '../../reprieve.ts'
import { type ActingFlags, actingOf, withActing } from '../acting.ts'
import { action, type Ended } from '../action.ts'
import { openThoughAway } from '../away.ts'
import { asDuration, type Common, openOptions } from '../options.ts'
import { checkPlaces, tellNew } from '../places.ts'
import { inert } from '../print/inert.ts'
import { warnOnStderr } from '../print/paint.ts'
import { remark, say, sayJson } from '../print/say.ts'
import { breakerTable } from './list.ts'

interface OrderFlags extends ActingFlags {
  readonly for?: Millis
  readonly force?: true
}

/** An operator's hand on what runs: pause and resume services, force breakers. */
export const registerHand = (program: Command): void => {
  ordering(
    program
      .command('pause')
      .description('let a service pull nothing more; what is under way ends')
      .argument('<service>')
      .option('--force', 'though no process and no rule book knows it'),
  ).action(action(pauseOne))
  withActing(program.command('resume'))
    .description('let a paused service pull again')
    .argument('<service>')
    .action(action(resumeOne))
  const breaker = program
    .command('breaker')
    .description('breakers of running services: list, open, close, release')
  breaker.command('list').description('how they stand, in each process').action(action(listAll))
  for (const [verb, what] of [
    ['open', 'refuse all calls'],
    ['close', 'let all calls through'],
  ] as const) {
    ordering(
      breaker
        .command(verb)
        .description(`${what}, whatever happens, until released`)
        .argument('<name>', 'a dependency, or service/event for a handler’s own'),
    ).action(
      action((flags: OrderFlags, name: string) => forceOne(flags, name, verb === 'open' ? 'open' : 'closed')),
    )
  }
  withActing(breaker.command('release'))
    .description('let it go by itself again')
    .argument('<name>')
    .action(action((flags: OrderFlags, name: string) => forceOne(flags, name, 'release')))
}

const ordering = (command: Command): Command =>
  withActing(command).option('--for <duration>', 'how long the order holds (else a day)', asDuration)

const withHand = async (
  flags: Common,
  use: (hand: Hand, app: Reprieve) => Promise<Ended>,
): Promise<Ended> => {
  await checkPlaces(flags)
  await tellNew(flags, 'nothing runs on it yet')
  const { app } = await openThoughAway(flags, { ...openOptions(flags), office: false })
  await using _ = app
  return await use(app.hand, app)
}

const orderOf = (flags: OrderFlags) => ({
  ...actingOf(flags),
  ...(flags.for !== undefined && { lasts: flags.for }),
})

const pauseOne = (flags: OrderFlags, service: string): Promise<Ended> =>
  withHand(flags, async (hand, { book }) => {
    const running = await hand.running()
    const runs = running.includes(service)
    if (!runs && !book.services.has(service) && !flags.force) throw unknownService(service, running, book)
    await hand.pause(service, orderOf(flags))
    // set before a start is as good: who starts it then finds it asleep
    if (!runs) remark(`nobody runs ${inert(service)} now: it will pause when it starts`)
    if (flags.json) return sayJson(await hand.paused())
    say(`${inert(service)} pauses; \`reprieve resume ${inert(service)}\` ends it`)
  })

const unknownService = (
  service: string,
  running: readonly string[],
  { services }: Reprieve['book'],
): ReprieveError => {
  const known = [...new Set([...running, ...services.keys()])].sort()
  const others = known.length > 0 ? `name one of ${known.map(inert).join(', ')}; or ` : ''
  return new ReprieveError(
    'bad_usage',
    `no process runs ${inert(service)}, and the rule book has no such service`,
    {
      fix: `${others}pause it all the same with --force`,
    },
  )
}

const resumeOne = (flags: OrderFlags, service: string): Promise<Ended> =>
  withHand(flags, async (hand) => {
    const was = (await hand.paused()).some((each) => each.service === service)
    await hand.resume(service, orderOf(flags))
    if (flags.json) return sayJson(await hand.paused())
    say(was ? `${inert(service)} goes on` : `${inert(service)} was not paused`)
  })

const forceOne = (flags: OrderFlags, name: string, to: 'open' | 'closed' | 'release'): Promise<Ended> =>
  withHand(flags, async (hand) => {
    await hand.breaker(name, to, orderOf(flags))
    if (to !== 'release' && !flags.json) await tellUnasked(hand, name)
    if (flags.json) return sayJson((await hand.breakers()).filter((line) => line.name === name))
    say(
      to === 'release'
        ? `${inert(name)} goes by itself again`
        : `${inert(name)} is forced ${to}; \`reprieve breaker release ${inert(name)}\` ends it`,
    )
  })

/** A slip in the name would leave the one that is meant as it is. It is no mistake for sure: nobody may have asked it yet. */
const tellUnasked = async (hand: Hand, name: string): Promise<void> => {
  const asked = (await hand.breakers()).flatMap((line) => (line.report ? [line.name] : []))
  if (asked.includes(name)) return
  const known = asked.length > 0 ? `; those that were: ${[...new Set(asked)].map(inert).join(', ')}` : ''
  remark(warnOnStderr(`no process has asked a breaker ${inert(name)} lately${known}`))
}

const listAll = (flags: Common): Promise<Ended> =>
  withHand(flags, async (hand) => {
    const lines = await hand.breakers()
    if (flags.json) return sayJson(lines)
    if (lines.length === 0) return say('no breaker was asked lately')
    say(breakerTable(lines, systemClock.now()))
  })
