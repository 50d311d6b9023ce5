import { encodeData } from '../core/event.ts'
import { fingerprint } from '../core/fingerprint.ts'
import { type Letter, writeLetter } from '../core/letter.ts'
import type { Instant } from '../core/time.ts'
import { extendTrail, freshTrail } from '../core/trail.ts'

/** So many letters of one service, each a millisecond younger than the one before. */
export const sampleLetters = (
  count: number,
  start: Instant,
  over: (n: number) => Partial<Letter> = () => ({}),
): readonly Letter[] =>
  Array.from({ length: count }, (_, n) => {
    const where = { service: 'mail-svc', topic: 'tasks', consumerGroup: 'mail-svc', transport: 'memory' }
    const failure = {
      category: 'transient',
      kind: 'integration',
      name: 'ConnectError',
      message: 'no answer from smtp.example.org',
      code: 'ECONNREFUSED',
      because: 'a test says so',
    } as const
    const type = 'task.created'
    const event = {
      id: `e-${n}`,
      source: 'test',
      type,
      extensions: {},
      headers: {},
      ...(encodeData({ n }) as { data: Uint8Array; datacontenttype: string }),
    }
    const at = start + n
    const trail = extendTrail(freshTrail, failure, at)
    const letter = writeLetter({ event, trail, due: at }, where, '_mail-svc.deadletter', {
      reason: 'attempts exhausted',
      failure,
      at,
      limit: 1,
      fingerprint: fingerprint(failure, { ...where, type }),
    })
    return { ...letter, ...over(n) }
  })
