/** How many columns of a terminal a text takes: marks take none, wide characters two. */
export const widthOf = (text: string): number => {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text))
    width += WIDE.test(segment) ? 2 : NONE.test(segment) ? 0 : 1
  return width
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
const NONE = /^\p{Mark}+$/u
const WIDE =
  /^(\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}])|\ufe0f/u

/** The text in at most so many columns; what is left out shows as an ellipsis. */
export const cutTo = (text: string, columns: number): string => {
  if (widthOf(text) <= columns) return text
  let kept = ''
  let width = 0
  for (const { segment } of graphemes.segment(text)) {
    width += widthOf(segment)
    if (width > columns - 1) break
    kept += segment
  }
  return columns > 0 ? `${kept}…` : ''
}

export const padded = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - widthOf(text)))

export const paddedLeft = (text: string, columns: number): string =>
  ' '.repeat(Math.max(0, columns - widthOf(text))) + text

/** The text in lines of at most so many columns, broken between words; a word that has no room in a line is broken, too. */
export const wrapped = (text: string, columns: number): readonly string[] => {
  const lines: string[] = []
  let line = ''
  const put = (piece: string): void => {
    if (widthOf(line + piece.trimEnd()) <= columns) line += piece
    else {
      if (line !== '') lines.push(line.trimEnd())
      line = piece
    }
  }
  for (const [word] of text.matchAll(/\S+\s*|\s+/g)) {
    if (widthOf(word.trimEnd()) <= columns) put(word)
    else for (const { segment } of graphemes.segment(word)) put(segment)
  }
  return [...lines, line.trimEnd()]
}
