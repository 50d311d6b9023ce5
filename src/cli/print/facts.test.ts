import { expect, it } from 'vitest'
import { ReprieveError } from '../../core/error.ts'
import { factLines } from './facts.ts'

it('tells a trouble in one line, what others wrote inert, and how to mend it in the end', () => {
  const lines: string[] = []
  const journal = factLines((line) => void lines.push(line), 'all')
  const error = new ReprieveError('unavailable', "there is no queue 'dead'\u001b[2J", {
    fix: 'start its owner',
  })
  journal({ at: 0, is: 'trouble', where: 'ingesting dead', error, retryIn: 100 })
  journal({ at: 0, is: 'trouble', where: 'ingesting dead', error: new Error('two\nlines') })
  expect(lines.map((line) => line.slice(line.indexOf('ingesting')))).toEqual([
    "ingesting dead: there is no queue 'dead'␛[2J, again in 100 ms; fix: start its owner",
    'ingesting dead: two␊lines',
  ])
})
