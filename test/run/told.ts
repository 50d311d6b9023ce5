/** What a run of all tests tells of itself, by the reporter beside this file. */
export interface Told {
  readonly files: readonly ToldFile[]
  /** Errors that belong to no test: they fail the run whatever the tests say. */
  readonly unhandled: number
}

export interface ToldFile {
  /** From the root of the repository. */
  readonly path: string
  /** Also of a file that fails before its first test. */
  readonly failed: boolean
  readonly tests: readonly { readonly name: string; readonly is: string }[]
}

/** Where the reporter writes it. */
export const TOLD_IN = 'REPRIEVE_TEST_TOLD_IN'

export const testsThat = (told: Told, is: string): readonly string[] =>
  told.files.flatMap(({ tests }) => tests.filter((test) => test.is === is).map(({ name }) => name))
