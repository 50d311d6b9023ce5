/** A book of so many rows, twenty to a service, each with a policy and a timeout of its own. */
export const EVENTS = 20

export const bookOf = (rows: number): string => {
  const lines = [
    'version: 1',
    'policies: { own: { extends: patient, retries: 9 } }',
    'defaults: { policy: standard }',
    'services:',
  ]
  for (let row = 0; row < rows; row++) {
    const event = row % EVENTS
    if (event === 0) lines.push(`  ${serviceOf(row)}:`, '    breaker: kafkaBreaker', '    events:')
    const policy = event % 2 === 0 ? 'own' : 'critical'
    lines.push(`      ${eventOf(row)}: { policy: ${policy}, timeout: ${5 + event}s }`)
  }
  return `${lines.join('\n')}\n`
}

export const serviceOf = (row: number): string => `svc-${Math.floor(row / EVENTS)}`
export const eventOf = (row: number): string => `a${row % EVENTS}.done`
