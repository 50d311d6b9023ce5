export type { Plant } from './plant.ts'
export { type Line, type Simulation, simulate } from './simulate.ts'
export type { Violation } from './violation.ts'
