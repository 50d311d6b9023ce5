import type { About, Journal } from '../contracts/journal.ts'
import type { Verdict } from '../core/verdict.ts'
import type { Step } from './settle.ts'

/** The fact that a settled verdict is. */
export const tell = (
  journal: Journal,
  verdict: Verdict,
  step: Step,
  fact: About,
  { at, number, took }: { readonly at: number; readonly number: number; readonly took: number },
): void => {
  if (verdict.do === 'done') journal({ at, is: 'done', attempt: number, took, ...fact })
  else if (verdict.do === 'retry')
    journal({ at, is: 'retry', attempt: number, delay: verdict.due - at, ...fact })
  else if (verdict.do === 'hold') {
    journal({ at, is: 'held', delay: verdict.due - at, because: verdict.because, ...fact })
  } else if (step.do === 'bury') {
    journal({ at, is: 'dead', letter: step.letter.id, reason: verdict.reason, to: step.to, ...fact })
  }
}
