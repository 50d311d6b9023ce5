import { readFile } from 'node:fs/promises'
import { ReprieveError } from '../../core/error.ts'

/** The files of PEM text that a URL or the environment names. */
export interface TlsFiles {
  /** Who vouches for the broker, in place of the well-known authorities. */
  readonly ca?: string
  /** Our own certificate and its key, where the broker asks for one. */
  readonly cert?: string
  readonly key?: string
}

export interface TlsOptions {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
}

/** Read anew for each connection: certificates are renewed while we run. */
export const readTls = async ({ ca, cert, key }: TlsFiles): Promise<TlsOptions> => ({
  ...(ca && { ca: await pem(ca, 'ca') }),
  ...(cert && { cert: await pem(cert, 'cert') }),
  ...(key && { key: await pem(key, 'key') }),
})

const pem = async (file: string, name: string): Promise<Buffer> => {
  try {
    return await readFile(file)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ReprieveError(
      'bad_url',
      `the file '${file}' of '${name}' for RabbitMQ can't be read (${code})`,
      {
        fix: `name a file of PEM text that this process may read, by '?${name}=' or REPRIEVE_RABBITMQ_${name.toUpperCase()}`,
        cause,
      },
    )
  }
}
