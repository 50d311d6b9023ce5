/** Notices go to stderr: stdout is for what a shell may evaluate. */
export function say(line: string): void {
  process.stderr.write(`services: ${line}\n`)
}

/** The innermost message: clients wrap the one that matters ('connect ECONNREFUSED …') in their own. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const inner = error.cause ?? (error instanceof AggregateError ? error.errors[0] : undefined)
  if (inner instanceof Error) return reasonOf(inner)
  const line = (error.message || error.name).trim().split('\n')[0]
  return line ?? error.name
}

/** `amqp://guest:guest@host` may be shown; a stranger's password may not. */
export function withoutPassword(url: string): string {
  return url.replace(/(:\/\/[^:/@]*):[^@]*@/, '$1:***@')
}
