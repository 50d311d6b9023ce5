import { ReprieveError } from '../../core/error.ts'

/**
 * The few members of pg that are used here. It is an optional peer: nobody who doesn't open a `postgres://` URL needs
 * it, and none of its types leave this folder.
 */
export interface Driver {
  readonly Client: new (settings: ClientSettings) => Client
}

export interface ClientSettings {
  readonly connectionString: string
  readonly application_name: string
  readonly keepAlive: boolean
  /** What is put is sent at once, behind what is not answered yet. */
  readonly pipeline: boolean
  /** Only so that an abandoned socket does not stay for ever: patience is by our own clock. */
  readonly connectionTimeoutMillis: number
}

export interface Client {
  connect(): Promise<unknown>
  query(statement: Statement): Promise<Result>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  /** Its socket, to leave a server that no longer answers. */
  readonly connection?: { readonly stream?: { destroy(): unknown } }
}

export interface Statement {
  /** Prepared under this name, once for each connection. */
  readonly name?: string
  readonly text: string
  readonly values?: readonly unknown[]
}

export interface Result {
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly rowCount: number | null
}

export const loadDriver = async (load: () => Promise<unknown> = () => import('pg')): Promise<Driver> => {
  try {
    const loaded = (await load()) as { default?: Driver } & Driver
    return loaded.default ?? loaded
  } catch (cause) {
    throw new ReprieveError('client_missing', 'PostgreSQL needs the package pg, which is not installed', {
      fix: 'npm install pg@8',
      cause,
    })
  }
}
