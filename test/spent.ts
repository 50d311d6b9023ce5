/**
 * How many milliseconds of a processor this takes: what others do on the same machine does not count. For what must not
 * grow out of all proportion, whatever it is given.
 */
export const spentOn = (work: () => void): number => {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
