import type { Finding } from '../../contracts/doctor.ts'
import { inert } from './inert.ts'
import { bad, calm, good, warn } from './paint.ts'
import { padded } from './width.ts'

const PAINT = { wrong: bad, risky: warn, fine: good } as const

/** For people. One missing right may be lacking of eighty names: what to do about it is told once. */
export const findingLines = (findings: readonly Finding[]): readonly string[] =>
  findings.flatMap(({ check, level, where, what, why, fix }, at) => {
    const next = findings[at + 1]
    const isLast = next?.check !== check || next.why !== why || next.fix !== fix
    return [
      `  ${PAINT[level](padded(level, 6))}${check}  ${inert(where)}: ${inert(what)}`,
      ...(why && isLast ? [calm(`        why: ${inert(why)}`)] : []),
      ...(fix && isLast ? [`        fix: ${inert(fix)}`] : []),
    ]
  })
