import { ReprieveError } from '../../core/error.ts'
import type { Settings } from './settings.ts'

export const unavailable = (
  place: string,
  what: string,
  cause?: unknown,
  options: { fix?: string } = {},
): ReprieveError => {
  const why = cause instanceof Error && !options.fix ? `: ${cause.message}` : ''
  return new ReprieveError('unavailable', `RabbitMQ at ${place}: ${what}${why}`, { ...options, cause })
}

export const isUnavailable = (error: unknown): boolean =>
  error instanceof ReprieveError && error.code === 'unavailable'

export const closedError = (place: string): ReprieveError =>
  new ReprieveError('closed', `the transport to RabbitMQ at ${place} is closed`)

/** What keeps us from connecting, and how to mend it. Never with a secret: the client's own words hold none. */
export const unreachable = (error: NodeJS.ErrnoException, { server, place }: Settings): Error => {
  if (error instanceof ReprieveError) return error
  const [what, fix] = explain(error, server) ?? [
    `can't connect to ${server.hostname} port ${server.port}: ${error.message}`,
    'look whether RabbitMQ is well and can be reached from here, or mend host and port in the transport URL',
  ]
  return unavailable(place, what, error, { fix })
}

const NOT_TRUSTED =
  /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?)|CERT_SIGNATURE_FAILURE)$/

const OUR_CERTIFICATE =
  "look whether the broker asks for a certificate of ours ('?cert=' and '?key=' name it) and takes this one"

const explain = (
  { code = '', message }: NodeJS.ErrnoException,
  { protocol, hostname, port, username, vhost }: Settings['server'],
): readonly [what: string, fix: string] | undefined => {
  const said = message.replace(/^.*with message "(.*)"$/s, '$1')
  if (code === 'ECONNREFUSED') {
    return [
      `nothing listens at ${hostname} port ${port} (ECONNREFUSED)`,
      'start RabbitMQ, or mend host and port in the transport URL',
    ]
  }
  if (code === 'ENOTFOUND') {
    return [`the host '${hostname}' is not known (ENOTFOUND)`, 'mend the host in the transport URL']
  }
  if (said.includes('ACCESS_REFUSED')) {
    return [
      `the user '${username ?? 'guest'}' was refused (ACCESS_REFUSED)`,
      'mend user and password in the transport URL or in REPRIEVE_RABBITMQ_USER and REPRIEVE_RABBITMQ_PASSWORD, or create the user on the broker',
    ]
  }
  if (said.startsWith('Expected ConnectionOpenOk')) {
    return [
      `the virtual host '${vhost ?? '/'}' was refused`,
      'create the virtual host, or grant the user access to it',
    ]
  }
  if (NOT_TRUSTED.test(code)) {
    return [
      `its certificate is vouched for by nobody we trust (${code})`,
      "name the file of its certificate authority by '?ca=' in the transport URL or by REPRIEVE_RABBITMQ_CA",
    ]
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return [
      `its certificate is not for '${hostname}' (${code})`,
      'connect by a name that the certificate holds, or give the broker a certificate with this one',
    ]
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return [`its certificate is not valid today (${code})`, "renew the broker's certificate"]
  }
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'EPROTO') {
    return [
      `port ${port} speaks no TLS that we understand (${code})`,
      "write amqp:// for a port without TLS, or name the broker's TLS port, most often 5671",
    ]
  }
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_OSSL_')) {
    return [`TLS failed (${code})`, OUR_CERTIFICATE]
  }
  // the handshake of a server that expected TLS, or that is no RabbitMQ
  const hungUp = code === 'ECONNRESET' || /abruptly during opening/.test(said)
  // the end of a connection may come before the reason for it is read
  if (protocol === 'amqps' && hungUp) {
    return [`${hostname} port ${port} hung up before it said anything`, OUR_CERTIFICATE]
  }
  if (hungUp) {
    return [
      `${hostname} port ${port} hung up before it said anything`,
      'write amqps:// if that port wants TLS, or mend the port in the transport URL',
    ]
  }
  return undefined
}
