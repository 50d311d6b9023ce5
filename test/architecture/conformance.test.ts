import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from './source.ts'
import { hasTest } from './titles.ts'

/** Rows look like: | A4 | proved | what … | `src/core/backoff.test.ts` › half jitter … | */
const rows = readFileSync(join(root, 'docs/conformance.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\| [A-EI]\d+ \|/.test(line))
  .map((line) => {
    const [id, state, , tests] = line
      .split('|')
      .slice(1)
      .map((cell) => cell.trim())
    return { id: id!, state: state!, tests: tests ?? '' }
  })

const named = (cell: string) =>
  cell
    .split('<br>')
    .map((each) => /^`([^`]+)` › (.+)$/.exec(each.trim()))
    .filter((match) => match !== null)
    .map(([, file, title]) => ({ file: file!, title: title!.trim() }))

describe('docs/conformance.md', () => {
  it('has a row for each requirement touched, once', () => {
    const ids = rows.map(({ id }) => id)
    const touched = [
      'A1',
      'A2',
      'A3',
      'A4',
      'A5',
      'A6',
      'A7',
      'A8',
      'A9',
      'A10',
      'A11',
      'A12',
      'A13',
      'A14',
      'A15',
      'A16',
      'A17',
      'B1',
      'B2',
      'B3',
      'B4',
      'B5',
      'B6',
      'B7',
      'B8',
      'B11',
      'C1',
      'C2',
      'C3',
      'C4',
      'C5',
      'C6',
      'C7',
      'C8',
      'C10',
      'C11',
      'D1',
      'D2',
      'D3',
      'D4',
      'D5',
      'D6',
      'D7',
      'D8',
      'D9',
      'D10',
      'D11',
      'D12',
      'D13',
      'D14',
      'D15',
      'E1',
      'E2',
      'E3',
      'E4',
      'E5',
      'E8',
      'E9',
      'E10',
    ]
    expect(ids).toEqual([...new Set(ids)])
    expect(ids).toEqual(expect.arrayContaining(touched))
  })

  it('says proved or open, and proves by tests that exist', () => {
    const wrong: string[] = []
    for (const { id, state, tests } of rows) {
      if (!['proved', 'open'].includes(state)) wrong.push(`${id}: '${state}' is neither proved nor open`)
      const proofs = named(tests)
      if (proofs.length === 0) wrong.push(`${id}: names no test`)
      for (const { file, title } of proofs) {
        if (!existsSync(join(root, file))) wrong.push(`${id}: ${file} does not exist`)
        else if (!file.endsWith('.test.ts')) wrong.push(`${id}: ${file} holds no tests`)
        else if (!hasTest(readFileSync(join(root, file), 'utf8'), title))
          wrong.push(`${id}: ${file} has no test '${title}'`)
      }
    }
    expect(wrong).toEqual([])
  })

  it('takes no text for a test that is only somewhere in the file', () => {
    for (const source of [
      "it('adds up', () => {})",
      "describe('adds up', () => {})",
      "describeWith('amqp', 'adds up', () => {})",
      "it.each([[1, 2]])('adds up', () => {})",
      "it.skipIf(!here)(\n  'adds up', () => {})",
    ])
      expect(hasTest(source, 'adds up')).toBe(true)
    for (const source of [
      "// it('adds up', () => {})",
      "const text = 'adds up'",
      "it('adds up twice', () => {})",
    ])
      expect(hasTest(source, 'adds up')).toBe(false)
  })
})
