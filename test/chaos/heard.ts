import type { Journal } from '../../src/contracts/journal.ts'

/** So many lines are remembered. */
const MOST = 40

/**
 * What a worker had trouble with: told as it happens where CHAOS_LOUD is set, else the last of it when it is asked by SIGUSR2.
 * A run that stands still asks: what kept it is seldom seen a second time.
 */
export const hearing = (): Journal => {
  const heard: string[] = []
  process.on('SIGUSR2', () => {
    const what = heard.length > 0 ? `had trouble last with\n${heard.join('\n')}` : 'had no trouble'
    console.error(`worker ${process.pid} ${what}`)
  })
  return (fact) => {
    if (fact.is !== 'trouble' && fact.is !== 'notice') return
    const text = fact.is === 'trouble' ? `${fact.where}: ${fact.error.message}` : fact.text
    const line = `${process.pid} ${new Date(fact.at).toISOString()} ${text}`
    if (process.env.CHAOS_LOUD) return console.error(line)
    heard.push(line)
    if (heard.length > MOST) heard.shift()
  }
}
