import type { Category, Kind } from './failure.ts'
import { type Finding, finding } from './finding.ts'

// The status codes of gRPC, by number. Each is what its HTTP relative is, but for ABORTED: the other side asks for a new
// attempt of the whole transaction, which is what a retry of the event is.
const STATUS: readonly (readonly [name: string, Category, Kind?])[] = [
  ['OK', 'unknown'],
  ['CANCELLED', 'transient', 'timeout'],
  ['UNKNOWN', 'unknown'],
  ['INVALID_ARGUMENT', 'permanent'],
  ['DEADLINE_EXCEEDED', 'transient', 'timeout'],
  ['NOT_FOUND', 'permanent'],
  ['ALREADY_EXISTS', 'permanent'],
  ['PERMISSION_DENIED', 'permanent', 'auth'],
  ['RESOURCE_EXHAUSTED', 'rate-limited'],
  ['FAILED_PRECONDITION', 'permanent'],
  ['ABORTED', 'transient'],
  ['OUT_OF_RANGE', 'permanent'],
  ['UNIMPLEMENTED', 'permanent'],
  ['INTERNAL', 'unknown'],
  ['UNAVAILABLE', 'transient'],
  ['DATA_LOSS', 'unknown'],
  ['UNAUTHENTICATED', 'permanent', 'auth'],
]

export const grpcName = (code: number): string | undefined => STATUS[code]?.[0]

// The client's own limit on the size of a message has the same status as a quota, but time does not make a message smaller.
const TOO_LARGE = /message (?:with a size |that decompresses to a size )?larger than/

export const fromGrpc = (code: string, text: string): Finding | undefined => {
  const status = STATUS.find(([name]) => name === code)
  if (!status) return undefined
  const [name, category, kind] = status
  if (name === 'RESOURCE_EXHAUSTED' && TOO_LARGE.test(text)) {
    return finding('gRPC RESOURCE_EXHAUSTED (message too large)', 'permanent')
  }
  const found = finding(`gRPC ${name}`, category, kind)
  return name === 'CANCELLED' ? { ...found, weak: true } : found
}
