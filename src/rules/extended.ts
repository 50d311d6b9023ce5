/**
 * The built-in things of one sort and the book's own, by name. `extends` is followed; a name that extends itself,
 * or nothing, means the built-in one where there is one. Circles were found by the check.
 */
export const extended = <W extends { readonly extends?: string | undefined }, T>(
  builtin: ReadonlyMap<string, T>,
  written: Readonly<Record<string, W>>,
  build: (name: string, own: W, base: T | undefined) => T,
): ReadonlyMap<string, T> => {
  const find = (name: string, asked?: string): T | undefined => {
    if (name === asked || !Object.hasOwn(written, name)) return builtin.get(name)
    const own = written[name]!
    return build(name, own, find(own.extends ?? name, name))
  }
  return new Map([...builtin, ...Object.keys(written).map((name) => [name, find(name)!] as const)])
}
