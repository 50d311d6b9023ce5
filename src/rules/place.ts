export type Path = readonly string[]

export const pathKey = (path: Path): string => path.join('\0')

/** A place in a file, as editors count: from 1. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

interface Places {
  /** The file's beginning, for what has no place of its own. */
  readonly start: Place
  readonly values: ReadonlyMap<string, Place>
  readonly keys: ReadonlyMap<string, Place>
}

/** Where the value at a path begins; the nearest one around it where there is none. */
export const valuePlace = (places: Places, path: Path): Place => around(places.values, places, path)

/** Where the key stands that the value at a path has; the nearest one around it where there is none. */
export const keyPlace = (places: Places, path: Path): Place => around(places.keys, places, path)

const around = (first: ReadonlyMap<string, Place>, { start, keys, values }: Places, path: Path): Place => {
  for (let length = path.length; length >= 0; length--) {
    const key = pathKey(path.slice(0, length))
    const place = first.get(key) ?? keys.get(key) ?? values.get(key)
    if (place) return place
  }
  return start
}

/** Where a path itself is written: its key, or the item of a list. */
export const ownPlace = (
  { keys, values }: Pick<Places, 'keys' | 'values'>,
  path: Path,
): Place | undefined => {
  const key = pathKey(path)
  return keys.get(key) ?? values.get(key)
}
