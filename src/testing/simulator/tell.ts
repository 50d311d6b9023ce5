import type { Line, Simulation } from './simulate.ts'

/** The command that plays the same again. */
export const replayCommand = (seed: number): string => `npm run simulate -- --seed ${seed}`

const MOST = 60

/** What was broken, what led to it, and how to see it again. */
export const tellFailure = ({ seed, scenario, violations, lines }: Simulation): string => {
  const { kind, processes, weather } = scenario
  const likely = [...weather.likely.keys()].join(', ') || 'none'
  return [
    `seed ${seed}: ${violations.map(({ law, what }) => `${law}: ${what}`).join('; ')}`,
    `  ${kind} transport, ${processes} processes, faults: ${likely}`,
    ...lines.slice(-MOST).map(tellLine),
    `Play it again: ${replayCommand(seed)}`,
  ].join('\n')
}

export const tellLine = ({ at, who, what }: Line): string =>
  `  ${`+${(at / 1000).toFixed(3)}`.padStart(9)}  ${who.padEnd(6)} ${what}`
