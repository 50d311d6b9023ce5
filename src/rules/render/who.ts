import type { Rules } from '../rules.ts'
import { code } from './markdown.ts'
import { eventWords } from './phrases.ts'

/** Says some of these pairs in few words: all, whole services, or single events of a service. */
export const namerOf = (all: readonly Rules[]): ((some: readonly Rules[]) => string) => {
  const whole = byService(all)
  return (some) =>
    some.length === all.length
      ? 'all'
      : [...byService(some)]
          .map(([service, rows]) =>
            rows.length === whole.get(service)?.length
              ? code(service)
              : `${code(service)} (${rows.map(({ event }) => eventWords(event)).join(', ')})`,
          )
          .join(', ')
}

const byService = (pairs: readonly Rules[]) => Map.groupBy(pairs, ({ service }) => service)
