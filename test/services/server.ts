/** How a server came to be had: a variable named it, its program was there, our cache held it, or we got it now. */
export type How = 'env' | 'installed' | 'cache' | 'fetched'

/** A program that can be started. `home` is for the server that found it to understand. */
export interface Program {
  readonly home: string
  readonly version: string
  readonly how: Exclude<How, 'env'>
}

/**
 * A real server that tests can use. One file each; `servers.ts` lists them all.
 *
 * - `find` looks on this machine only and changes nothing; a half-made or damaged find counts as none.
 * - `get` fetches or installs, and throws an Error whose message is a reason a person can act on. It is
 *   called by one process at a time, after `find` came back empty.
 * - `start` keeps every file in `dir`, listens on 127.0.0.1 only, names each process through `started` as
 *   soon as it has a pid (they are ended in reverse order, by SIGTERM or the signal named), and resolves with the URL once the server
 *   really answers. It may throw at any moment: whoever called ends the named processes and removes `dir`.
 * - `ping` speaks the real protocol once, briefly, and gives the version where the server tells it.
 */
export interface Server {
  readonly name: string
  readonly env: `REPRIEVE_TEST_${string}`
  find(): Promise<Program | undefined>
  get(): Promise<Program>
  start(program: Program, dir: string, started: Started): Promise<string>
  ping(url: string): Promise<string | undefined>
}

export type Started = (pid: number, ask?: NodeJS.Signals) => void

/** `readyMs` is 0 for one that was up before we asked. */
export type Outcome =
  | { had: true; name: string; env: string; url: string; version: string; how: How; readyMs: number }
  | { had: false; name: string; env: string; reason: string }
