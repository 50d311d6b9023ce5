/**
 * Text that others wrote (payloads, headers, error messages) must not steer the terminal it is shown on. Controls,
 * escapes, invisible characters and marks that turn the reading direction are shown as what they are.
 */
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|\p{Surrogate}/gu

/** For one line: line ends and tabs are shown as marks too. */
export const inert = (text: string): string => text.replace(UNSAFE, mark)

/** For many lines: they stay lines. */
export const inertLines = (text: string): string =>
  text
    .replaceAll('\t', '  ')
    .split(/\r?\n/)
    .map((line) => inert(line))
    .join('\n')

/** C0 controls have pictures of their own; the others are named. */
const mark = (char: string): string => {
  const code = char.codePointAt(0)!
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  if (code === 0x7f) return '\u2421'
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`
}

/** JSON for programs, on one line, that is harmless on a terminal as well: the same characters, escaped. */
export const toJsonLine = (value: unknown): string =>
  JSON.stringify(value).replace(UNSAFE, (char) =>
    Array.from(
      { length: char.length },
      (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
