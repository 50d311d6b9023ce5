import { createHash } from 'node:crypto'
import type { Millis } from '../../../core/time.ts'

/** A duration as Go reads it: it knows no days. */
export const goDuration = (ms: Millis): string => (ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`)

const LONGEST = 200

/** A name that Kubernetes takes. One that had to be changed gets a mark, so that no two become one. */
export const resourceName = (...parts: readonly string[]): string => {
  const name = parts.join('-')
  const clean = name
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/[.-]*\.[.-]*/g, '.')
    .slice(0, LONGEST)
    .replace(/^[.-]+|[.-]+$/g, '')
  if (clean === name) return name
  const mark = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return clean === '' ? mark : `${clean}-${mark}`
}
