import type { Category, Kind } from './failure.ts'
import { type Finding, finding } from './finding.ts'

type Judged = readonly [what: string, Category, Kind?]

// SQLSTATE is a standard: two characters of class, three of condition. What the classes say holds for PostgreSQL, MySQL
// and others. Classes that are not here stay unknown, among them 25 (the state of a transaction: a defect of the handler,
// mostly), 26 and 34 (names of statements and cursors: a pooler's doing), 55 (the state of an object), 58 (the server's
// files), P0 (raised by the user's own procedures), HV (foreign servers), XX (a defect of the server), HY (MySQL's catch-all).
const CLASSES: ReadonlyMap<string, Judged> = new Map<string, Judged>([
  ['08', ['connection', 'transient']],
  ['40', ['transaction rolled back', 'transient']], // deadlocks, serialisation
  ['53', ['insufficient resources', 'transient']],
  ['57', ['operator intervention', 'transient']],
  ['72', ['snapshot too old', 'transient']],
  ['0A', ['not supported', 'permanent']],
  ['21', ['cardinality', 'permanent']],
  ['22', ['data', 'permanent']],
  ['23', ['constraint', 'permanent']],
  ['28', ['login', 'permanent', 'auth']],
  ['3D', ['no such database', 'permanent']],
  ['3F', ['no such schema', 'permanent']],
  ['42', ['syntax or access', 'permanent']],
  ['44', ['check option', 'permanent']],
  ['54', ['program limit', 'permanent']],
])

const CONDITIONS: ReadonlyMap<string, Judged> = new Map<string, Judged>([
  ['25006', ['read-only', 'transient']], // we are still connected to what a failover made a standby
  ['25P03', ['idle in transaction', 'transient', 'timeout']],
  ['42501', ['insufficient privilege', 'permanent', 'auth']],
  ['55006', ['object in use', 'transient']],
  ['55P03', ['lock not available', 'transient']],
  ['57014', ['query cancelled', 'transient', 'timeout']], // statement_timeout is told so
  ['HV00N', ['foreign connection', 'transient']],
  ['HYT00', ['timeout', 'transient', 'timeout']],
  ['HYT01', ['connection timeout', 'transient', 'timeout']],
])

const STALE_PLAN = 'cached plan must not change result type'

export const fromSqlState = (code: string, text: string): Finding => {
  // 0A000, but the next connection plans anew: the table was altered behind a prepared statement.
  if (text === STALE_PLAN) return finding(`SQLSTATE ${code} (stale plan)`, 'transient')
  const judged = CONDITIONS.get(code) ?? CLASSES.get(code.slice(0, 2))
  if (!judged) return finding(`SQLSTATE ${code}`, 'unknown')
  const [what, category, kind] = judged
  return finding(`SQLSTATE ${code} (${what})`, category, kind)
}
