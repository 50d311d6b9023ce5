import { choice, list, mapping, text } from '../fields.ts'
import { SILENCEABLE } from './ids.ts'

/** What a book says to its linter: which findings are as they should be, and why. */
export const lintShape = mapping({
  silence: list(
    mapping({
      check: choice(...SILENCEABLE),
      /** A finding's path as it is printed; with a star at its end every path with that beginning. */
      at: text.optional(),
      reason: text,
    }),
  ).optional(),
})
