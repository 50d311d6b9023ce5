/** What tests of your own need: time and chance in your hand, a transport in memory, and the trials. */
export { open as openMemory } from '../adapters/memory/index.ts'
export { type VirtualClock, virtualClock } from './clock.ts'
export { loadedDice } from './dice.ts'
export { type TestTools, testTools } from './tools.ts'
export * from './trials/index.ts'
