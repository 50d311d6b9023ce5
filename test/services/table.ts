export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)))
  const line = (cells: readonly string[]) => cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ')
  return [head, widths.map((width) => '-'.repeat(width)), ...rows]
    .map((row) => line(row).trimEnd())
    .join('\n')
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
