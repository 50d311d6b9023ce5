import { overlaps } from '../../core/pattern.ts'
import { ANY, readPath, type Step } from '../../core/where.ts'
import type { RuleBook } from '../book.ts'
import type { Path } from '../place.ts'
import type { WrittenRedaction } from '../schema.ts'
import type { Remark } from './finding.ts'
import type { Check } from './scope.ts'

/** What must not be kept of events that die: rules that take out nothing, or what is needed. */
export const redactions: Check = ({ book }) => ({
  *whole() {
    const names = namedIn(book)
    for (const [name, rule] of Object.entries(book.written.redact ?? {})) {
      const path = ['redact', name]
      yield* nothing(book, names, rule, path)
      for (const [index, text] of (rule.paths ?? []).entries())
        yield* ofPath(rule, text, index, [...path, 'paths', String(index)])
      for (const [index, header] of (rule.headers ?? []).entries())
        yield* ofHeader(header.toLowerCase(), [...path, 'headers', String(index)])
    }
  },
})

/** Every name of an event that the book knows, exact or with a star. */
const namedIn = (book: RuleBook): readonly string[] => [
  ...[...book.services.values()].flatMap(({ events = {} }) => Object.keys(events)),
  ...[...book.topics.values()].flatMap(({ types }) => types),
]

function* nothing(
  book: RuleBook,
  names: readonly string[],
  { service, event, paths = [], headers = [] }: WrittenRedaction,
  path: Path,
): Generator<Remark> {
  const id = 'redact-nothing'
  if (paths.length + headers.length === 0) {
    const fix = "name what is to be taken out, as in 'paths: [$.card.number]' or 'headers: [authorization]'"
    yield { id, path, reason: 'it names neither paths nor headers: nothing is taken out', fix }
  }
  if (service !== undefined && book.services.size > 0 && !book.services.has(service)) {
    const reason = `the book has no service ${service}: nothing is taken out of anybody's letters`
    const fix = `name one that it has, such as ${[...book.services.keys()][0]}, or take the line away: then all are meant`
    yield { id, path: [...path, 'service'], reason, fix }
  }
  if (event !== undefined && names.length > 0 && !names.some((each) => overlaps(event, each))) {
    const reason = `no event of the book is called ${event}: if the name is a slip, secrets stay where they are`
    const fix = 'mend the name, or name the event with its service or its topic'
    yield { id, path: [...path, 'event'], reason, fix }
  }
}

function* ofPath(rule: WrittenRedaction, text: string, index: number, path: Path): Generator<Remark> {
  const steps = stepsOf(text)
  if (steps.length === 0) {
    yield {
      id: 'redact-needed',
      path,
      reason:
        'the whole payload is taken out: no search finds such letters by it, and none can be replayed before it is written anew',
      fix: 'name the fields that must not be kept',
    }
  }
  const first = steps.findIndex((step) => typeof step === 'number')
  if (first >= 0) {
    const any = text.replace(`[${String(steps[first])}]`, '[*]')
    yield {
      id: 'redact-one-of-many',
      path,
      reason: `of a list only one is taken out by ${text}: the same secret stays in the others`,
      fix: `write ${any}`,
    }
  }
  const outer = (rule.paths ?? []).find(
    (other, at) => at !== index && isWithin(stepsOf(other), steps) && (other !== text || at < index),
  )
  if (outer !== undefined) {
    yield {
      id: 'redact-cant-match',
      path,
      reason: `${outer} takes it out already: ${outer === text ? 'it is named twice' : 'what it leads to is gone by then'}`,
      fix: `take ${text} away, or ${outer} where only a part of it must not be kept`,
    }
  }
}

const stepsOf = (text: string): readonly Step[] => {
  const read = readPath(text)
  return 'why' in read ? [] : read
}

/** Whether all that `inner` leads to stands in what `outer` leads to. */
const isWithin = (outer: readonly Step[], inner: readonly Step[]): boolean =>
  outer.length <= inner.length && outer.every((step, i) => step === ANY || step === inner[i])

/** What a replay sends so that a dependency does nothing twice. */
const NEEDED = 'x-idempotency-key'
/** As bindings write the attributes of an event, which are no headers by the time it dies. */
const ATTRIBUTES = /^(?:ce[_-]|cloudevents[:_])/

function* ofHeader(header: string, path: Path): Generator<Remark> {
  if (ATTRIBUTES.test(header)) {
    yield {
      id: 'redact-cant-match',
      path,
      reason: `${header} is an attribute of the event, not a header of it: it is kept, as id and type are`,
      fix: 'keep secrets out of attributes, and take the line away',
    }
  }
  if (overlaps(header, NEEDED)) {
    yield {
      id: 'redact-needed',
      path,
      reason: `it takes out ${NEEDED}, by which dependencies know what they did before: such a letter can't be replayed before it is written anew`,
      fix: 'name the headers that must not be kept, without this one',
    }
  }
}
