import { describe, expect, it } from 'vitest'
import { sources } from './source.ts'

/** A catch that does nothing: allowed where a comment, in it, behind it or before it, says why. */
const SILENT = [/catch \{\s*\}/, /catch \((\w+)\) \{\s*\}/, /\.catch\(\(\) => (\{\}|undefined)\)/]

const isExplained = (lines: readonly string[], at: number): boolean =>
  [lines[at - 2], lines[at - 1], lines[at], lines[at + 1]].some((line) =>
    /\/\/ |^\s*\*|\/\*\*/.test(line ?? ''),
  )

describe('nothing is swallowed', () => {
  it('an error that nobody is told of has a reason written beside it', () => {
    const found = sources().flatMap(({ path, text }) => {
      const lines = text.split('\n')
      return lines.flatMap((line, at) => {
        const silent = SILENT.some((each) => each.test(line)) && !isExplained(lines, at)
        return silent ? [`${path}:${at + 1}  ${line.trim()}`] : []
      })
    })
    expect(found).toEqual([])
  })
})
