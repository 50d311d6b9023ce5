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

it('tells a trouble that comes again and again now and then, with how often it was', () => {
  const lines: string[] = []
  const journal = factLines((line) => void lines.push(line), 'quiet')
  const error = new Error('nothing listens')
  const told = () => lines.splice(0).map((line) => line.slice(line.indexOf('trouble')))
  const during = (seconds: number, from: number, where = 'inlet a') => {
    for (let s = from; s < from + seconds; s++)
      journal({ at: s * 1000, is: 'trouble', where, error, retryIn: 1000 })
    return told()
  }
  const line = 'trouble    inlet a: nothing listens, again in 1 s'
  expect(during(10, 0)).toEqual([line])
  expect(during(60, 10)).toEqual([`${line}; 10 times in 10 s`, `${line}; 20 times in 20 s`])
  // at another place, or of another event, it is another one
  expect(during(1, 70, 'inlet b')).toHaveLength(1)
  const about = { service: 's', topic: 't', type: 't', event: 'e-1' }
  for (const event of ['e-1', 'e-2'])
    journal({ at: 71_000, is: 'trouble', where: 'inlet b', error, about: { ...about, event } })
  expect(told()).toHaveLength(2)
  // hours of it are some lines, and one that comes back after a pause is told at once
  expect(during(3 * 60 * 60, 70).length).toBeLessThan(45)
  expect(during(1, 4 * 60 * 60)).toEqual([line])
})
