import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

/** Colour where a terminal looks on and NO_COLOR is not set; plain text otherwise. */
const painter =
  (style: Style, stream: NodeJS.WriteStream = process.stdout) =>
  (text: string): string =>
    styleText(style, text, { stream })

export const good = painter('green')
export const bad = painter('red')
export const warn = painter('yellow')
export const calm = painter('gray')
export const strong = painter('bold')
export const warnOnStderr = painter('yellow', process.stderr)
export const badOnStderr = painter('red', process.stderr)
export const calmOnStderr = painter('gray', process.stderr)
