const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const

/** Counts as bars, the highest as the full one; nothing at all is a dot. */
export const spark = (counts: readonly number[]): string => {
  const most = Math.max(1, ...counts)
  return counts
    .map((count) => (count === 0 ? '·' : BARS[Math.ceil((count / most) * BARS.length) - 1]))
    .join('')
}
