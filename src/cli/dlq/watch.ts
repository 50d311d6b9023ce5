import { systemClock } from '../../adapters/system/clock.ts'
import type { KeptOperation } from '../../contracts/operations.ts'
import { isLive } from '../../core/operation.ts'
import type { Millis } from '../../core/time.ts'
import type { Office } from '../../office/index.ts'
import { calmOnStderr } from '../print/paint.ts'
import { CLEAR } from '../print/progress.ts'
import { remark, sayJson } from '../print/say.ts'
import { barOf, progressText } from './operation-text.ts'

export interface WatchOptions {
  /** sent: nothing is left to be sent · end: nothing is on its way any more */
  readonly until: 'sent' | 'end'
  readonly most?: Millis
  /** A line for each change, for programs. */
  readonly jsonl?: boolean | undefined
  /** Nothing but the end is told. */
  readonly quiet?: boolean | undefined
}

const LOOK = 200
const PLAIN_EVERY = 1000

/** Looks on while the office, which must be open, works on it. */
export const watchOperation = async (
  { operations }: Pick<Office, 'operations'>,
  id: string,
  { until, most = Number.POSITIVE_INFINITY, jsonl = false, quiet = false }: WatchOptions,
): Promise<KeptOperation> => {
  const terminal = process.stderr.isTTY === true && !jsonl && !quiet
  const deadline = systemClock.now() + most
  let told = ''
  let toldAt = 0
  const tell = (kept: KeptOperation, last: boolean): void => {
    const now = systemClock.now()
    const text = progressText(kept, now)
    if (terminal) {
      const { columns = 80 } = process.stderr
      process.stderr.write(`${CLEAR}${`${barOf(kept)} ${text}`.slice(0, columns - 1)}${last ? '\n' : ''}`)
      return
    }
    if (text === told || (!last && now - toldAt < PLAIN_EVERY)) return
    told = text
    toldAt = now
    if (jsonl) sayJson(kept)
    else if (!quiet) remark(calmOnStderr(text))
  }
  const leave = () => leaveIt(id, terminal)
  process.on('SIGINT', leave).on('SIGTERM', leave)
  try {
    for (;;) {
      const kept = await operations.show(id)
      const over = isOver(kept, until) || systemClock.now() >= deadline
      tell(kept, over)
      if (over) return kept
      await systemClock.sleep(Math.min(LOOK, Math.max(1, deadline - systemClock.now())))
    }
  } finally {
    process.off('SIGINT', leave).off('SIGTERM', leave)
  }
}

/** Who ends the command has not ended the operation, and may well think so. */
const leaveIt = (id: string, terminal: boolean): void => {
  if (terminal) process.stderr.write('\n')
  remark(
    `the operation is not over, and an app that runs goes on with it; reprieve dlq operation pause ${id} holds it up, cancel ends it`,
  )
  process.exit(130)
}

/** A paused one waits for a person, and so does one that is to be approved. */
const isOver = ({ operation: { state, paused } }: KeptOperation, until: WatchOptions['until']): boolean =>
  !isLive(state) ||
  paused !== undefined ||
  state === 'needs approval' ||
  state === 'frozen' ||
  (until === 'sent' && state === 'following')
