import { ReprieveError } from '../../core/error.ts'
import type { Millis } from '../../core/time.ts'

export interface Place {
  /** As the URL gives it: relative to where the process runs, or absolute. */
  readonly path: string
  /** How often an idle inlet looks for what other processes wrote. */
  readonly poll: Millis
}

const POLL: Millis = 250
const SPAN = /^(\d+(?:\.\d+)?)(ms|s|m)$/
const UNITS: Readonly<Record<string, Millis>> = { ms: 1, s: 1000, m: 60_000 }
const EXAMPLE = "write it like 'sqlite:app.db', 'sqlite:./data/app.db' or 'sqlite:/var/lib/app.db?poll=1s'"

/** Reads `sqlite:<path>[?poll=<time>]`; `sqlite:///abs/app.db` is an absolute path too. */
export const readUrl = (url: string): Place => {
  const [, rest] = /^sqlite:(.*)$/s.exec(url) ?? refuse(url, 'is no sqlite URL')
  const question = rest!.indexOf('?')
  const raw = question < 0 ? rest! : rest!.slice(0, question)
  const query = new URLSearchParams(question < 0 ? '' : rest!.slice(question + 1))
  if (raw === '') refuse(url, 'names no file')
  if (raw === ':memory:') refuse(url, 'asks for no file at all', "use 'memory:' to keep nothing")
  if (raw.startsWith('//') && !raw.startsWith('///')) refuse(url, 'names a host, but a file is on this one')
  for (const name of query.keys()) if (name !== 'poll') refuse(url, `has an unknown setting '${name}'`)
  return { path: decoded(raw.startsWith('///') ? raw.slice(2) : raw), poll: span(url, query.get('poll')) }
}

const span = (url: string, text: string | null): Millis => {
  if (text === null) return POLL
  const [, amount, unit] = SPAN.exec(text) ?? []
  const ms = Number(amount) * (UNITS[unit ?? ''] ?? 0)
  return ms >= 1 ? ms : refuse(url, `has poll '${text}', which is no time of 1ms or more`)
}

/** A path may be written with its odd characters encoded; one that holds a bare % is meant as it stands. */
const decoded = (path: string): string => {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

const refuse = (url: string, why: string, fix = EXAMPLE): never => {
  throw new ReprieveError('bad_url', `'${url}' ${why}`, { fix })
}
