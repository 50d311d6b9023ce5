import type { Dice } from '../contracts/tools.ts'
import type { Instant } from '../core/time.ts'

/** Dice that fall the same way for the same seed; ids are UUIDv7 in form and sort by time, then by order. */
export const loadedDice = (seed = 1, now: () => Instant = () => 0): Dice => {
  const next = fractions(seed)
  let last = 0
  let sequence = 0
  return {
    next,
    uuid: () => {
      const at = Math.max(now(), last)
      sequence = at > last ? 0 : sequence + 1
      last = at
      if (sequence > 0xfff) {
        last++
        sequence = 0
      }
      const time = hex(last, 12)
      const variant = hex(0x8000 | Math.floor(next() * 0x4000), 4)
      const rest = hex(Math.floor(next() * 2 ** 48), 12)
      return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(sequence, 3)}-${variant}-${rest}`
    },
  }
}

/** Marsaglia's xorshift: small, with a period of 2³² − 1, and good enough for jitter and shuffles. */
const fractions = (seed: number): (() => number) => {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0')
