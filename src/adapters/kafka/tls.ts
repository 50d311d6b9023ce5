import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { ReprieveError } from '../../core/error.ts'

/** The files of PEM text that a URL or the environment names. */
export interface TlsFiles {
  /** Who vouches for the brokers, in place of the well-known authorities. */
  readonly ca?: string
  /** Our own certificate and its key, where the brokers ask for one. */
  readonly cert?: string
  readonly key?: string
}

/** What the client takes for TLS. */
export interface Tls {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
}

/**
 * Read now, so that what is wrong is told at once, and anew for each connection that the client makes by itself:
 * certificates are renewed while processes live.
 */
export const readTls = async (files: TlsFiles): Promise<Tls> => {
  const tls: Tls = {}
  for (const name of ['ca', 'cert', 'key'] as const) {
    const file = files[name]
    if (file === undefined) continue
    let last = await pem(file, name)
    const get = () => {
      try {
        last = readFileSync(file)
      } catch {
        // it is being replaced: the one before may still be good
      }
      return last
    }
    Object.defineProperty(tls, name, { get, enumerable: true })
  }
  return tls
}

const pem = async (file: string, name: string): Promise<Buffer> => {
  try {
    return await readFile(file)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ReprieveError('bad_url', `the file '${file}' of '${name}' for Kafka can't be read (${code})`, {
      fix: `name a file of PEM text that this process may read, by '?${name}=' or REPRIEVE_KAFKA_${name.toUpperCase()}`,
      cause,
    })
  }
}
