export type { Violation } from './account.ts'
export type { Plant } from './plant.ts'
export { type Line, type Simulation, simulate } from './simulate.ts'
