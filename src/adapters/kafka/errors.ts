import { ReprieveError } from '../../core/error.ts'
import type { Client } from './client.ts'

/** The protocol's error codes that we act on. */
export const CODE = {
  offsetOutOfRange: 1,
  unknownTopic: 3,
  tooLarge: 10,
  markTooLarge: 12,
  coordinatorLoading: 14,
  coordinatorAbsent: 15,
  coordinatorElsewhere: 16,
  invalidTopic: 17,
  recordListTooLarge: 18,
  illegalGeneration: 22,
  unknownMember: 25,
  rebalancing: 27,
  topicNotAllowed: 29,
  groupNotAllowed: 30,
  clusterNotAllowed: 31,
  mechanismNotTaken: 33,
  topicExists: 36,
  invalidReplication: 38,
  policyViolation: 44,
  outOfOrder: 45,
  duplicateSequence: 46,
  transactionNotAllowed: 53,
  credentialsRefused: 58,
  unknownProducer: 59,
  fencedInstance: 82,
  unstable: 88,
} as const

interface Branch {
  readonly errors?: readonly unknown[]
  readonly cause?: unknown
  readonly apiCode?: number
  readonly canRetry?: boolean
  readonly serverErrorMessage?: string | null
  readonly response?: unknown
}

/** The client wraps errors in errors; these are all of them, the outermost first. */
export const branches = (error: unknown): readonly (Error & Branch)[] => {
  const found: (Error & Branch)[] = []
  const walk = (each: unknown) => {
    if (!(each instanceof Error) || found.includes(each)) return
    const branch = each as Error & Branch
    found.push(branch)
    branch.errors?.forEach(walk)
    walk(branch.cause)
  }
  walk(error)
  return found
}

export const hasCode = (error: unknown, ...codes: readonly number[]): boolean =>
  branches(error).some(({ apiCode }) => apiCode !== undefined && codes.includes(apiCode))

/** A code in words; a broker may be newer than the client, and know more of them. */
export const errorOf = (client: Client, code: number): Error => {
  try {
    return new client.ProtocolError(code)
  } catch {
    return new Error(`the broker refuses with code ${code}, which is unknown here`)
  }
}

/** Brokers have answered, and not with a yes; else nobody knows whether they are there. */
export const isRefusal = (error: unknown): boolean =>
  branches(error).some((each) => each.apiCode !== undefined || codeOf(each) === 'bad_rules')

const codeOf = (error: Error): string | undefined => (error instanceof ReprieveError ? error.code : undefined)

/** The client says so in words only where it asks for topics: it has taken the code out of the error by then. */
export const isUnknownTopic = (error: unknown): boolean =>
  hasCode(error, CODE.unknownTopic) || (error instanceof Error && error.message.startsWith('Unknown topic'))

/** One of the topics is at fault: it is not there, or not for us. */
export const isOfTopic = (error: unknown): boolean =>
  isUnknownTopic(error) || hasCode(error, CODE.topicNotAllowed)

/** Brokers neither show the topic nor let us make it. */
export const isWithheld = (error: unknown): boolean =>
  hasCode(error, CODE.topicNotAllowed, CODE.clusterNotAllowed, CODE.invalidReplication, CODE.policyViolation)

/** The answer of the broker that an error carries, where it carries one. */
export const responsesIn = (error: unknown): readonly unknown[] =>
  branches(error).flatMap(({ response }) => (response === undefined ? [] : [response]))

/** Where errors end: nothing further is said to have caused them. */
const leavesOf = (error: unknown) =>
  branches(error).filter(({ errors, cause }) => !errors?.length && !(cause instanceof Error))

/** The innermost reasons, in words. The client's messages name hosts and requests, never credentials. */
export const reasonOf = (error: unknown): string => {
  const words = leavesOf(error).map((leaf) => leaf.serverErrorMessage || leaf.message || leaf.name)
  return [...new Set(words)].slice(0, 3).join('; ') || String(error)
}

/** Its cause is the first innermost error: the client's tree of attempts fills a screen and says no more. */
export const unavailable = (
  brokers: readonly string[],
  doing: string,
  error: unknown,
  fix?: string,
): ReprieveError =>
  error instanceof ReprieveError
    ? error
    : new ReprieveError('unavailable', `kafka at ${brokers.join(', ')}: ${doing}: ${reasonOf(error)}`, {
        cause: leavesOf(error)[0],
        ...(fix !== undefined && { fix }),
      })
