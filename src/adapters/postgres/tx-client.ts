/** A pool of the user's, as far as it is used here: `new pg.Pool(…)` is one. */
export interface TheirPool {
  connect(): Promise<TheirClient>
}

export interface TheirClient {
  query(text: string, values?: unknown[]): Promise<TheirResult>
  /** With an error: the connection is closed instead of used again. */
  release(error?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}

export interface TheirResult {
  // biome-ignore lint/suspicious/noExplicitAny: as pg has it
  readonly rows: any[]
  readonly rowCount: number | null
  readonly command?: string
}

export interface PostgresTxOptions {
  /** The schema that holds the tables `inbox` and `outbox`; made where it is missing. Default: reprieve. */
  readonly schema?: string
}
