/** The name that differs by the fewest letters, where it is near enough to be a slip. */
export const nearest = (name: string, names: Iterable<string>): string | undefined => {
  if (name.length > 64) return undefined
  let best: string | undefined
  let least = Math.max(1, Math.floor(name.length / 3)) + 1
  for (const each of names) {
    if (Math.abs(each.length - name.length) >= least) continue
    const steps = distance(name.toLowerCase(), each.toLowerCase())
    if (steps < least) [best, least] = [each, steps]
  }
  return best
}

/** Letters to insert, drop, change, or swap with their neighbour. */
const distance = (a: string, b: string): number => {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    const above = rows[i - 1]!
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let steps = Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        steps = Math.min(steps, rows[i - 2]![j - 2]! + 1)
      }
      row.push(steps)
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}
