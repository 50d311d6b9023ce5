import { randomBytes } from 'node:crypto'
import type { Dice } from '../../contracts/tools.ts'

/** Chance from the operating system; ids are UUIDv7 that never go back, even within a millisecond. */
export const systemDice = (): Dice => {
  let last = 0
  let sequence = 0
  return {
    next: () => Math.random(),
    uuid: () => {
      const now = Date.now()
      if (now > last) {
        last = now
        sequence = 0
      } else if (++sequence > 0xfff) {
        last++
        sequence = 0
      }
      const time = last.toString(16).padStart(12, '0')
      const random = randomBytes(8)
      random[0] = (random[0]! & 0x3f) | 0x80
      const hex = random.toString('hex')
      const counter = sequence.toString(16).padStart(3, '0')
      return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${hex.slice(0, 4)}-${hex.slice(4)}`
    },
  }
}
