import type { KeptLetter } from '../../contracts/letters.ts'
import { redactedAt } from '../../core/redact.ts'
import { iso } from '../../core/time.ts'
import type { Lives } from '../../office/index.ts'
import type { Facts } from './letter.ts'

/** What became of a letter besides dying: its other lives, repairs, what was taken out of it, and how long it has. */
export const storyFacts = ({ letter, repair }: KeptLetter, { lives, expires, keptUntil }: Lives): Facts => {
  const { orderkey } = letter.event.extensions
  const missing = redactedAt(letter, repair)
  return [
    ...(orderkey === undefined ? [] : [['order key', String(orderkey)] as const]),
    ...(expires === undefined ? [] : [['expires', iso(expires)] as const]),
    ['kept until', iso(keptUntil)],
    ...lives
      .filter(({ id }) => id !== letter.id)
      .map(({ id, generation, state = 'not kept any more' }) => {
        const when = generation < letter.trail.generation ? 'earlier' : 'later'
        return [
          `${when} life`,
          `${id}, ${generation === 0 ? 'the first' : `replay ${generation}`}, ${state}`,
        ] as const
      }),
    ...(letter.redacted ? [['redacted at', letter.redacted.at.join(', ')] as const] : []),
    ...(missing.length > 0
      ? [['to be replayed', `it must be repaired first at ${missing.join(', ')}`] as const]
      : []),
    ...(repair
      ? [
          [
            'repaired',
            `version ${repair.version} by ${repair.who}, ${iso(repair.at)}: reprieve dlq diff shows how`,
          ] as const,
        ]
      : []),
  ]
}

export const timesOf = ({ expires, keptUntil }: Lives) => ({
  expiresAt: expires === undefined ? null : iso(expires),
  keptUntil: iso(keptUntil),
})
