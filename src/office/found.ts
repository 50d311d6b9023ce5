import type { Letters } from '../contracts/letters.ts'
import type { Dice } from '../contracts/tools.ts'
import type { Delivery } from '../contracts/transport.ts'
import { foundLetter, type Keeping } from '../core/found.ts'
import { derivedId, type Letter } from '../core/letter.ts'
import type { Instant } from '../core/time.ts'
import type { RuleBook } from '../rules/index.ts'
import { serviceRules } from '../rules/index.ts'

/** What the rules say of letters that others wrote to a destination. */
export const keepingOf = (book: RuleBook | undefined, destination: string): Keeping => {
  const said = book?.foreign.get(destination)
  // at our own destinations: what a broker moved there by itself goes to the one queue that it was rejected in
  if (!book || !said) return { replay: 'queue' }
  const { service, topic, replay = 'origin' } = said
  const consumerGroup = service === undefined ? undefined : serviceRules(book, service).consumerGroup
  return { service, topic, consumerGroup, replay }
}

/** Letters of a batch that others wrote, each with an id that is its own. */
export const foundLetters = async (
  batch: readonly Delivery[],
  where: { readonly destination: string; readonly transport: string },
  keeping: Keeping,
  letters: Pick<Letters, 'find'>,
  dice: Dice,
  now: Instant,
): Promise<readonly Letter[]> => {
  const made = batch.map((delivery) => ({
    delivery,
    letter: foundLetter(delivery.parcel, delivery.broken, delivery.found, where, keeping, now),
  }))
  const alike = made.filter(({ delivery }) => delivery.found?.alike)
  if (alike.length === 0) return made.map(({ letter }) => letter)
  const ids = alike.flatMap(({ letter: { id } }) => [id, secondId(id)])
  const taken = new Set((await letters.find({ ids }, ids.length)).map(({ letter }) => letter.id))
  return made.map(({ letter, delivery }) => {
    if (!delivery.found?.alike) return letter
    const again = delivery.redelivered && !delivery.found.another
    const id = ownId(letter.id, again, taken, dice)
    taken.add(id)
    return id === letter.id ? letter : { ...letter, id }
  })
}

const secondId = (id: string): string => derivedId([id, 'alike'])

/**
 * Two messages may be alike to the last byte, and neither have an id. One that comes for the first time is another one
 * than that which is kept; so is the second that comes in one session. One that comes again is taken for that, unless more
 * than one such is known: then it is kept once too often rather than once too seldom.
 */
const ownId = (id: string, again: boolean, taken: ReadonlySet<string>, dice: Dice): string => {
  if (!taken.has(id)) return id
  const second = secondId(id)
  if (!taken.has(second)) return again ? id : second
  return derivedId([id, 'alike', dice.uuid()])
}
