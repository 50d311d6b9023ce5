import type { Told, ToldFile } from './told.ts'

/** Beyond so many it is no accident. */
const MOST_FILES = 5

/** There a failure means that an event was lost, doubled or blocked: once is too often. */
const FINAL = ['test/chaos/', 'src/testing/simulator/']

/** Which files are run once more, by themselves: a busy machine makes a test fail that waits for something real. */
export const worthASecondLook = ({ files, unhandled }: Told): readonly string[] => {
  const failed = files.filter((file) => file.failed)
  const isFinal = failed.some(({ path }) => FINAL.some((folder) => path.startsWith(folder)))
  return isFinal || unhandled > 0 || failed.length > MOST_FILES ? [] : failed.map(({ path }) => path)
}

export interface SecondLook {
  readonly test: string
  readonly passed: boolean
}

/** What became of each test that failed at first. One that was not run again has not passed. */
export const secondLook = (first: Told, second: Told): readonly SecondLook[] =>
  first.files
    .filter(({ failed }) => failed)
    .flatMap(({ path, tests }) => {
      const again = second.files.find((file) => file.path === path)
      const failed = tests.filter(({ is }) => is === 'failed')
      if (failed.length === 0) return [{ test: path, passed: again?.failed === false }]
      return failed.map(({ name }) => ({ test: `${path} › ${name}`, passed: hasPassed(again, name) }))
    })

const hasPassed = (file: ToldFile | undefined, name: string): boolean =>
  file?.tests.find((test) => test.name === name)?.is === 'passed'
