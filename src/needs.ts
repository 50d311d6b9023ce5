import type { Finding, Needed, Needs } from './contracts/doctor.ts'
import type { Can, Subscription } from './contracts/transport.ts'
import { type RuleBook, rowsWithin, rulesFor, serviceRules, topicsFor } from './rules/index.ts'
import { delaysOf } from './rules/lint/delays.ts'
import type { TransportFacts } from './rules/lint/index.ts'
import { planService } from './runtime/plan.ts'

/**
 * What the services of a book will ask of a transport, as far as the book says: handlers are registered in code, and a
 * service without rows may handle anything.
 */
export const needsOf = (
  book: RuleBook,
  facts: TransportFacts,
): { readonly needs: Needs; readonly findings: readonly Finding[] } => {
  const subscriptions: Needed[] = []
  const findings: Finding[] = []
  const can = canOf(facts)
  for (const [service, { events = {} }] of book.services) {
    const rows = Object.keys(events)
    if (rows.length === 0) {
      findings.push({
        check: 'service-without-rows',
        level: 'fine',
        where: service,
        what: 'the rule book names no events of it: what it subscribes to was not looked at',
      })
      continue
    }
    const homeless = rows.filter((row) => topicsFor(book, row, facts.patterns).length === 0)
    const homed = rows.filter((row) => !homeless.includes(row))
    for (const row of homeless) findings.push(withoutTopic(service, row, facts))
    try {
      // whether order can be kept is told by lint: here it only says how queues are made
      const plan = planService(book, service, homed, { name: facts.name, can: { ...can, order: 'key' } })
      subscriptions.push(...plan.subscriptions.map((to) => neededFor(book, to)))
    } catch (error) {
      const { message, fix } = error as Error & { fix?: string }
      const what = message.replace(/\n {2}fix: .*$/s, '')
      findings.push({ check: 'rules', level: 'wrong', where: service, what, ...(fix && { fix }) })
    }
  }
  const foreign = [...book.foreign.keys()].map((name) => ({ name, keep: AWAY }))
  return { needs: { subscriptions, foreign, receipts: `${book.naming.receipts}.${ANY_OFFICE}` }, findings }
}

/** Handlers say what is subscribed to, and a row may cover more than they take: it harms a handler of just that pattern. */
const withoutTopic = (service: string, row: string, { name }: TransportFacts): Finding => ({
  check: 'rules',
  level: 'risky',
  where: service,
  what: `no declared topic carries ${row}: a handler for ${row} could not start on ${name}; those for whole names can, and what they need for it was not looked at`,
  fix: `declare the topics, if there is such a handler: \`topics: { my-topic: ['${row}'] }\``,
})

/** How long an office may be away without losing what others leave for it. */
const AWAY = 7 * 24 * 60 * 60_000

/** As long as the names of offices are. */
const ANY_OFFICE = '0'.repeat(12)

const neededFor = (book: RuleBook, to: Subscription): Needed => {
  const { service, topic, types } = to
  const rules = rowsWithin(book, service, types).map((type) => rulesFor(book, service, type, topic))
  const longest = (of: (each: (typeof rules)[number]) => number): number => Math.max(...rules.map(of))
  const attempt = longest(({ timeout }) => timeout)
  const { window, concurrency } = serviceRules(book, service)
  return {
    to,
    attempt,
    unsettled: attempt * Math.ceil(window / concurrency),
    retries: longest(({ policy }) => delaysOf(policy).span),
    retention: longest(({ deadLetter }) => deadLetter.retention),
  }
}

const canOf = ({ later, order, patterns }: TransportFacts): Can => ({
  later,
  late: () => 0,
  order,
  lease: false,
  except: false,
  claims: false,
  patterns,
  fresh: false,
  urgent: false,
  unheard: 'kept',
})
