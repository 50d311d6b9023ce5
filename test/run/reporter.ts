import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter } from 'vitest/node'
import { TOLD_IN, type Told } from './told.ts'

/** Vitest's own report in JSON says nothing of errors outside of tests. */
export default class implements Reporter {
  onTestRunEnd: NonNullable<Reporter['onTestRunEnd']> = (modules, unhandled) => {
    const told: Told = {
      files: modules.map((module) => ({
        path: relative(process.cwd(), module.moduleId),
        failed: module.state() === 'failed',
        tests: Array.from(module.children.allTests(), (test) => ({
          name: test.fullName,
          is: test.result().state,
        })),
      })),
      unhandled: unhandled.length,
    }
    writeFileSync(process.env[TOLD_IN]!, JSON.stringify(told))
  }
}
