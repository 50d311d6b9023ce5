import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { HOUSE_CHECKS } from '../../src/doctor.ts'
import { doctorFor } from '../../src/open.ts'
import { cli, folderWith } from '../scenarios/child.ts'

const page = readFileSync(new URL('../../docs/doctor.md', import.meta.url), 'utf8')
const PLACES = ['memory:', 'sqlite:', 'postgres:', 'redis:', 'amqp:', 'kafka:']

describe('docs/doctor.md', () => {
  it('explains every check of the house and of each adapter, and nothing else', async () => {
    const doctors = await Promise.all(PLACES.map(doctorFor))
    const checks = [...HOUSE_CHECKS, ...doctors.flatMap((each) => each!.checks)]
    const sections = [...page.matchAll(/^### (.+)$/gm)].map(([, check]) => check)
    expect(sections.toSorted()).toEqual(checks.toSorted())
  })

  it('says how to mend each, or that there is nothing to mend', () => {
    const sections = page.split(/^### /m).slice(1)
    const silent = sections.filter((text) => !/\*Fix\*: |Told only|will be made/.test(text))
    expect(silent).toEqual([])
  })

  it('shows what is printed', async () => {
    const [, shown] = /^```text\n([\s\S]+?)^```$/m.exec(page)!
    const { stdout, code } = await cli(['doctor', '--transport', 'memory:'], { cwd: folderWith() })
    expect({ stdout, code }).toEqual({ stdout: shown, code: 0 })
  })
})
