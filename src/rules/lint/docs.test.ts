import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { transportFacts } from '../../cli/rules/transports.ts'
import { type BadRules, readRules } from '../index.ts'
import { CHECKS, type CheckId, type Facts, type LintFinding, lint, loadFindings } from './index.ts'

/** docs/lint.md shows each check by a book that has it and the same book mended. Nothing shown is unrun. */
const page = readFileSync(new URL('../../../docs/lint.md', import.meta.url), 'utf8')
const ids = Object.keys(CHECKS) as CheckId[]

const sectionOf = (id: string): string =>
  page.split(new RegExp(`^### ${id}$`, 'm'))[1]?.split(/^##/m)[0] ?? ''

interface Shown {
  readonly text: string
  readonly facts: Facts
}

const shown = (section: string, word: string): Shown => {
  const [, flags, text] =
    new RegExp(`^\`\`\`yaml ${word}(.*)\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(section) ?? []
  const url = /--transport (\S+)/.exec(flags ?? '')?.[1]
  const store = /--store (\w+):/.exec(flags ?? '')?.[1]
  const instances = /--instances (\d+)/.exec(flags ?? '')?.[1]
  return {
    text: `version: 1\n${text}`,
    facts: {
      ...(url !== undefined && { transport: transportFacts(url) }),
      ...(store !== undefined && { store }),
      ...(instances !== undefined && { instances: Number(instances) }),
    },
  }
}

const findingsIn = ({ text, facts }: Shown): readonly LintFinding[] => {
  try {
    return lint(readRules(text, 'reprieve.yaml'), facts)
  } catch (error) {
    return loadFindings(error as BadRules)
  }
}

describe('docs/lint.md', () => {
  it('has a section for each check and for nothing else, in order', () => {
    const sections = [...page.split(/^## Checks$/m)[1]!.matchAll(/^### (.+)$/gm)].map(([, id]) => id)
    expect(sections).toEqual(ids)
  })

  it.for(ids)('%s is found in the first book and not in the mended one', (id) => {
    const section = sectionOf(id)
    expect(section).toContain(`*${CHECKS[id].severity}`)
    const found = findingsIn(shown(section, 'finds'))
    expect(found.map((finding) => finding.id)).toContain(id)
    expect(found.find((finding) => finding.id === id)).toMatchObject({
      severity: CHECKS[id].severity,
      docs: `docs/lint.md#${id}`,
      file: 'reprieve.yaml',
    })
    const mended = shown(section, 'mended')
    expect(mended.text).not.toMatch(/undefined$/)
    // not even another one: what is shown as mended is mended
    expect(findingsIn(mended)).toEqual([])
  })

  it('says which checks need a fact, and these find nothing without it', () => {
    for (const id of ids) {
      const needs = 'needs' in CHECKS[id] ? (CHECKS[id] as { needs: string }).needs : undefined
      const section = sectionOf(id)
      expect(section.includes(`, with \`--${needs}\`.*`), id).toBe(needs !== undefined)
      if (needs === undefined) continue
      const { text } = shown(section, 'finds')
      expect(findingsIn({ text, facts: {} }).map((finding) => finding.id)).not.toContain(id)
    }
  })

  it('answers all 14 points of the checklist and all 10 mistakes, by a check or a reason', () => {
    const answers = (what: string) =>
      [...page.matchAll(new RegExp(`^\\| ${what} (\\d+) \\|[^|]+\\| (.+) \\|$`, 'gm'))].map(
        ([, number, answer]) => ({ number: Number(number), answer: answer! }),
      )
    const all = [answers('checklist'), answers('mistake')]
    expect(all.map((list) => list.map(({ number }) => number))).toEqual([
      Array.from({ length: 14 }, (_, index) => index + 1),
      Array.from({ length: 10 }, (_, index) => index + 1),
    ])
    for (const { answer } of all.flat()) {
      const named = [...answer.matchAll(/`([a-z-]+)`/g)].map(([, id]) => id!)
      expect(
        named.length > 0 || /^by design: .{20}/.test(answer) || /^by design: see \w+ \d+$/.test(answer),
      ).toBe(true)
      expect(ids).toEqual(expect.arrayContaining(named))
    }
  })

  it('names no check that does not exist', () => {
    const tables = page.split(/^## Where the checks come from$/m)[1]!.split(/^## Checks$/m)[0]!
    const answers = [...tables.matchAll(/^\|.*\| ([^|]+) \|$/gm)].map(([, answer]) => answer!)
    const named = answers.flatMap((answer) =>
      [...answer.matchAll(/`([a-z]+(?:-[a-z]+)+)`/g)].map(([, id]) => id!),
    )
    expect(named.length).toBeGreaterThan(50)
    expect(named.filter((id) => !ids.includes(id as CheckId))).toEqual([])
    expect(ids.filter((id) => !named.includes(id) && !LATER.has(id))).toEqual([])
  })

  it('shows a silence that silences, and a line as it is printed', () => {
    const silence = shown(page, 'silence')
    expect(findingsIn(silence)).toEqual([])
    const spoken = silence.text.replace(/^lint:\n[\s\S]*?(?=^policies)/m, '')
    expect(findingsIn({ text: spoken, facts: {} }).map(({ id, path }) => `${path} ${id}`)).toEqual([
      'policies.lockstep.jitter no-jitter',
    ])
    const printed = /^```text\n(.+)\n```$/m.exec(page)![1]!
    const [finding] = findingsIn(shown(sectionOf('no-jitter'), 'finds'))
    expect(printed).toBe(
      `${finding!.file}:${finding!.line}:${finding!.column} ${finding!.path} ${finding!.severity} ${finding!.id}: ${finding!.reason} — ${finding!.fix}`,
    )
  })
})

/** Checks that answer no published list: what is unused or in the way of itself. */
const LATER: ReadonlySet<string> = new Set([
  'redact-cant-match',
  'redact-needed',
  'redact-nothing',
  'redact-one-of-many',
  'row-misses-topic',
  'row-shadowed',
  'row-without-topic',
  'silence-unused',
  'unused-batcher',
  'unused-breaker',
  'unused-dependency',
  'unused-policy',
  'unused-store',
  'unused-timeout',
])
