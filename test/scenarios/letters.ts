import type { Letter } from '../../src/core/letter.ts'
import { writeLetter } from '../../src/core/letter.ts'
import { freshTrail } from '../../src/core/trail.ts'

/** So many dead letters of one service, as its burials would have written them. */
export const someLetters = (count: number, service = 'mail-svc', at = 1_800_000_000_000): readonly Letter[] =>
  Array.from({ length: count }, (_, n) => {
    const event = {
      id: `${service}-e-${n}`,
      source: '/test',
      type: 'task.created',
      extensions: {},
      headers: {},
      data: Buffer.from('{}'),
    }
    const where = { service, topic: 'task.created', consumerGroup: service, transport: 'sqlite' }
    return writeLetter({ event, trail: freshTrail, due: at }, where, `_${service}.deadletter`, {
      reason: 'permanent',
      failure: {
        category: 'permanent',
        kind: 'business',
        name: 'Error',
        message: 'no such address',
        because: 'it says so',
      },
      at: at + n,
      limit: 1,
      fingerprint: 'f00d',
    })
  })
