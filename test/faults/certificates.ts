import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Files of PEM text, made for one test. */
export interface Certificates {
  /** Who vouches for the server and for us. */
  readonly ca: string
  /** One that vouches for nobody here. */
  readonly stranger: string
  readonly server: { readonly cert: string; readonly key: string }
  /** Ours, where a server asks for it. */
  readonly client: { readonly cert: string; readonly key: string }
}

export const hasOpenssl = (process.env.PATH ?? '').split(':').some((dir) => existsSync(join(dir, 'openssl')))

/** Made by openssl in `dir`: two authorities, and a certificate for the names that are given (DNS:… or IP:…). */
export const makeCertificates = (dir: string, names = 'IP:127.0.0.1'): Certificates => {
  const openssl = (...args: string[]): void =>
    void execFileSync('openssl', args, { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] })
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const at = (file: string): string => join(dir, file)
  const authority = (name: string): string => {
    const subject = ['-subj', `/CN=${name}`, '-days', '2']
    openssl('req', '-x509', ...curve, ...subject, '-keyout', `${name}.key`, '-out', `${name}.pem`)
    return at(`${name}.pem`)
  }
  const issued = (name: string, extension: string) => {
    openssl(
      'req',
      ...curve,
      '-subj',
      `/CN=${name}`,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
      '-addext',
      extension,
    )
    const by = [
      '-CA',
      'ca.pem',
      '-CAkey',
      'ca.key',
      '-CAcreateserial',
      '-days',
      '2',
      '-copy_extensions',
      'copy',
    ]
    openssl('x509', '-req', '-in', `${name}.csr`, ...by, '-out', `${name}.pem`)
    return { cert: at(`${name}.pem`), key: at(`${name}.key`) }
  }
  return {
    ca: authority('ca'),
    stranger: authority('stranger'),
    server: issued('server', `subjectAltName=${names}`),
    client: issued('client', 'extendedKeyUsage=clientAuth'),
  }
}
