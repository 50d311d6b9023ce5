import { inert } from './inert.ts'
import { cutTo, padded, paddedLeft, widthOf, wrapped } from './width.ts'

export interface Column<Row> {
  readonly title: string
  readonly of: (row: Row) => string
  readonly align?: 'right'
  /** Columns that may be cut where the terminal is narrow, and the least they keep. */
  readonly least?: number
  /** It goes on below rather than being cut. */
  readonly wrap?: true
  /** Only where the terminal has so many columns: what others need the room more for. */
  readonly wide?: number
  readonly paint?: (text: string, row: Row) => string
}

const GAP = '  '

/** A table that fits the columns there are; without that limit nothing is cut. Cells are made inert. */
export const table = <Row>(all: readonly Column<Row>[], rows: readonly Row[], most?: number): string => {
  const columns = all.filter(({ wide = 0 }) => most === undefined || most >= wide)
  const cells = rows.map((row) => columns.map((column) => inert(column.of(row))))
  const wanted = columns.map(({ title }, i) =>
    Math.max(widthOf(title), ...cells.map((line) => widthOf(line[i]!))),
  )
  const widths = most === undefined ? wanted : shrink(columns, wanted, most)
  const place = (text: string, i: number): string => {
    const cut = cutTo(text, widths[i]!)
    if (columns[i]!.align === 'right') return paddedLeft(cut, widths[i]!)
    return i === columns.length - 1 ? cut : padded(cut, widths[i]!)
  }
  const head = columns.map(({ title }, i) => place(title, i)).join(GAP)
  const body = cells.flatMap((line, r) => {
    const parts = line.map((text, i) => (columns[i]!.wrap ? wrapped(text, widths[i]!) : [text]))
    const height = Math.max(...parts.map(({ length }) => length))
    return Array.from({ length: height }, (_, y) =>
      columns.map(({ paint }, i) => (paint ?? plain)(place(parts[i]![y] ?? '', i), rows[r]!)).join(GAP),
    )
  })
  return [head, ...body].map((line) => line.trimEnd()).join('\n')
}

const plain = (text: string): string => text

/** What a column still says something with, where there is hardly any room. */
const HARDLY = 4

/**
 * Takes from the widest of the columns that may give, until all fit or nothing more can be given. On a narrow terminal they
 * give more than they like, and then the others: but a number that is cut would be another number.
 */
const shrink = <Row>(columns: readonly Column<Row>[], wanted: readonly number[], most: number): number[] => {
  const widths = [...wanted]
  const floors: readonly ((column: Column<Row>) => number | undefined)[] = [
    ({ least }) => least,
    ({ least }) => (least === undefined ? undefined : HARDLY),
    ({ align }) => (align === 'right' ? undefined : HARDLY),
  ]
  let over = widths.reduce((sum, width) => sum + width, 0) + GAP.length * (columns.length - 1) - most
  for (const floorOf of floors) {
    while (over > 0) {
      const room = columns.map((column, i) => widths[i]! - (floorOf(column) ?? widths[i]!))
      const i = room.indexOf(Math.max(...room))
      if (room[i]! <= 0) break
      widths[i]!--
      over--
    }
  }
  return widths
}
