import { expect, it } from 'vitest'
import { virtualClock } from '../../testing/clock.ts'
import { bell } from './bell.ts'

const isOver = async (wait: Promise<void>): Promise<boolean> => {
  const soon = new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))
  return Promise.race([wait.then(() => true), soon])
}

it('keeps nobody waiting who was looking when it rang: what has changed meanwhile is looked at', async () => {
  const hunger = bell(virtualClock())
  const heard = hunger.rung
  hunger.ring()
  expect(await isOver(hunger.wait(undefined, undefined, heard))).toBe(true)
  expect(await isOver(hunger.wait(undefined, undefined, hunger.rung))).toBe(false)
  expect(await isOver(hunger.wait())).toBe(false)
})
