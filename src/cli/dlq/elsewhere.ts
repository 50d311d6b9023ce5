import type { KeptOperation } from '../../contracts/operations.ts'
import type { Office } from '../../office/index.ts'
import { warnOnStderr } from '../print/paint.ts'
import { remark } from '../print/say.ts'

const MOST_NAMED = 3

/** Most often it is a dry run of a minute ago that has the letters: whoever asks again must not have to guess that. */
export const tellElsewhere = async ({ operations }: Office, kept: KeptOperation): Promise<void> => {
  const count = kept.reasons['in another operation'] ?? 0
  if (count === 0) return
  const live = await operations.list({ live: true, limit: MOST_NAMED + 1 })
  const others = live.filter(({ operation }) => operation.id !== kept.operation.id).slice(0, MOST_NAMED)
  const named = others.map(({ operation: { id, kind, state } }) => `${id} (${kind}, ${state})`)
  const which = named.length > 0 ? `: ${named.join(', ')}` : ''
  remark(
    warnOnStderr(
      `${count.toLocaleString('en')} in another operation that is not over${which}; ` +
        'reprieve dlq operation resume goes on with it, cancel gives it up',
    ),
  )
}
