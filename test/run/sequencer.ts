import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * What takes longest begins first: begun last, one file keeps the whole run waiting, as the simulator did. Vitest remembers
 * how long each took, but not in a fresh clone; there it goes by size, and those that wait for brokers and deaths are small.
 */
const FIRST = ['src/testing/simulator/simulate.', 'test/chaos/', 'test/trials/']

const rankOf = (path: string): number => {
  const rank = FIRST.findIndex((each) => path.startsWith(each))
  return rank < 0 ? FIRST.length : rank
}

export const longestFirst = <T>(files: readonly T[], pathOf: (file: T) => string): T[] =>
  files.toSorted((a, b) => rankOf(pathOf(a)) - rankOf(pathOf(b)))

export default class extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config
    return longestFirst(await super.sort(files), ({ moduleId }) => moduleId.slice(root.length + 1))
  }
}
