import type { Fact, Journal } from '../contracts/journal.ts'
import type { Tools } from '../contracts/tools.ts'
import { checkGiven, FUNCTION, texts } from '../core/given.ts'

/** Hears of facts as they happen. What it throws, or rejects with, is told to the journal and harms nobody. */
export type Listener<Is extends Fact['is'] = Fact['is']> = (fact: Extract<Fact, { is: Is }>) => unknown

/** Of these kinds only, where any are named. Answers with the function that ends it. */
export interface Listen {
  (listener: Listener): () => void
  <Is extends Fact['is']>(kinds: readonly Is[], listener: Listener<Is>): () => void
}

export interface Listening {
  readonly journal: Journal
  readonly listen: Listen
}

/** Anybody may listen to the facts of a process while it runs, beside the journal that it was given. */
export const createListening = (
  { clock, journal: given }: Pick<Tools, 'clock' | 'journal'>,
  /** Hears what the given journal throws: it must not stop the work that it is told of. */
  deaf: (error: unknown) => void,
): Listening => {
  /** A new one at each change: who comes or goes while a fact is told changes nothing about that. */
  let ears: readonly { readonly kinds?: ReadonlySet<string>; readonly hear: Listener }[] = []

  const journal = (fact: Fact): void => {
    try {
      const answer: unknown = given(fact)
      if (answer instanceof Promise) answer.catch(deaf)
    } catch (error) {
      deaf(error)
    }
  }

  // to the journal alone: a listener that fails at every fact must not fail at that one too
  const trouble = (error: unknown): void =>
    journal({
      at: clock.now(),
      is: 'trouble',
      where: 'a listener',
      error: error instanceof Error ? error : new Error(String(error)),
    })

  const tell = (hear: Listener, fact: Fact): void => {
    try {
      const answer = hear(fact)
      if (answer instanceof Promise) answer.catch(trouble)
    } catch (error) {
      trouble(error)
    }
  }

  const listen = (...given: readonly [Listener] | readonly [readonly string[], Listener]): (() => void) => {
    const [first, second] = given
    if (typeof first !== 'function') checkGiven('listen(…)', 'the kinds', first, texts('dead'))
    checkGiven('listen(…)', 'the listener', typeof first === 'function' ? first : second, FUNCTION)
    const ear =
      typeof first === 'function' ? { hear: first } : { kinds: new Set<string>(first), hear: second! }
    ears = [...ears, ear]
    return () => {
      ears = ears.filter((each) => each !== ear)
    }
  }

  return {
    journal: (fact) => {
      journal(fact)
      for (const { kinds, hear } of ears) if (!kinds || kinds.has(fact.is)) tell(hear, fact)
    },
    listen: listen as Listen,
  }
}
