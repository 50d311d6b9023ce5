import { expect, it } from 'vitest'
import { ReprieveError } from './error.ts'
import { createUnanswered } from './unanswered.ts'

const unavailable = new ReprieveError('unavailable', 'the connection was lost')

const counted = () => {
  let minted = 0
  return () => `holder-${++minted}`
}

const fails = (error: Error) => async (): Promise<never> => {
  throw error
}

it('remembers who claimed and had no answer, and nobody else', async () => {
  const { holders, claim } = createUnanswered(counted())
  expect(await claim(async (holder) => holder)).toBe('holder-1')
  await expect(claim(fails(new Error('a deadlock')))).rejects.toThrow('a deadlock')
  await expect(claim(fails(unavailable))).rejects.toBe(unavailable)
  expect([...holders]).toEqual(['holder-3'])
})

it('forgets the oldest where an outage lasts', async () => {
  const { holders, claim } = createUnanswered(counted())
  for (let i = 0; i < 1001; i++) await claim(fails(unavailable)).catch(() => {})
  expect(holders.size).toBe(1000)
  expect(holders.has('holder-1')).toBe(false)
  expect(holders.has('holder-1001')).toBe(true)
})
