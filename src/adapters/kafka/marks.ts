/** Offsets from–to, both included. */
export type Run = readonly [from: number, to: number]

/**
 * What is written beside a committed offset, in the commit's own text. A log has no delivery count and can
 * commit only what is contiguous; the mark keeps both truths for the next owner of the partition: what past
 * the offset is finished already, and how many of the rest may have been handed over before.
 */
export interface Mark {
  /** How many unfinished records may have been out; 0: none was. */
  readonly out: number
  /** Finished records past the committed offset, in order. */
  readonly done: readonly Run[]
  /** The id of the topic: commits go by its name, which one that is deleted and made anew has too. */
  readonly of?: string | undefined
}

/** The broker takes 4,096 bytes by default. What does not fit is forgotten, and so handed over again. */
const MOST = 3_500
const FORM = /^reprieve:(?:1:(?<out>\d+)|2:(?<known>\d+):(?<of>[\da-f-]{36})):(?<runs>[\da-z.,]*)$/

/** Runs are written as distance and length from the end of the one before, so that long gaps stay short. */
export const encodeMark = ({ out, done, of }: Mark, committed: number): string => {
  let text = of === undefined ? `reprieve:1:${out}:` : `reprieve:2:${out}:${of}:`
  let end = committed
  for (const [from, to] of done) {
    const run = `${(from - end).toString(36)}.${(to - from).toString(36)},`
    if (text.length + run.length > MOST) break
    text += run
    end = to
  }
  return text
}

/** Without what is finished, for a broker that allows less: that will be handed over again. */
export const shortMark = (text: string): string => text.slice(0, text.lastIndexOf(':') + 1)

/** undefined: not a mark of ours, so that nothing can be ruled out. */
export const decodeMark = (text: string, committed: number): Mark | undefined => {
  const { out, known, of, runs } = FORM.exec(text)?.groups ?? {}
  if (runs === undefined) return undefined
  let end = committed
  const done: Run[] = []
  for (const run of runs.split(',')) {
    if (!run) continue
    const [distance, length] = run.split('.').map((part) => Number.parseInt(part, 36))
    if (!Number.isSafeInteger(distance) || !Number.isSafeInteger(length)) return undefined
    done.push([end + distance!, end + distance! + length!])
    end = end + distance! + length!
  }
  return { out: Number(out ?? known), done, ...(of !== undefined && { of }) }
}
