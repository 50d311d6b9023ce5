import type { ReprieveError } from '../../core/error.ts'
import { branches, CODE, hasCode, unavailable } from './errors.ts'
import type { Settings } from './settings.ts'

const NOT_TRUSTED =
  /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?)|CERT_SIGNATURE_FAILURE)$/

const LOOK =
  "look whether the brokers ask for a certificate of ours ('?cert=' and '?key=' name it) and take this one"

/** What keeps us from connecting, and how to mend it. Never with a secret: the client's own words hold none. */
export const unreachable = (error: unknown, settings: Settings): ReprieveError => {
  const fix =
    mending(error, settings) ?? 'start Kafka, or mend hosts, ports and credentials in the transport URL'
  return unavailable(settings.brokers, 'could not connect', error, fix)
}

/** The same for who was connected before: his URL was right once, so only what brokers or the system said plainly is believed. */
export const mendingMeanwhile = (error: unknown, settings: Settings): string | undefined => {
  const codes = branches(error).map((each) => String((each as NodeJS.ErrnoException).code ?? ''))
  if (hasCode(error, CODE.credentialsRefused)) return mending(error, settings)
  return codes.some((code) => UNREACHED.test(code))
    ? 'start Kafka, or look whether its brokers can be reached from here'
    : undefined
}

const UNREACHED = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH)$/

const mending = (error: unknown, { sasl, tls }: Settings): string | undefined => {
  const all = branches(error)
  const codes = all.map((each) => String((each as NodeJS.ErrnoException).code ?? ''))
  const has = (code: RegExp) => codes.some((each) => code.test(each))
  if (sasl && all.some(({ message }) => /current SASL state|ILLEGAL_SASL_STATE/.test(message))) {
    return 'that port asks for no credentials: leave user and password out of the transport URL, and REPRIEVE_KAFKA_USER unset, or name the port that does'
  }
  if (hasCode(error, CODE.mechanismNotTaken)) {
    return `the brokers do not take ${sasl?.mechanism}: name one that they do by '?sasl=' in the transport URL`
  }
  const isClosed = all.some(({ message }) => message === 'Connection closed')
  // a server that hangs up has said nothing of credentials, though the client takes it for that
  const isOfCredentials = has(/^PLT_KFK_AUTHENTICATION$/) || all.some(({ message }) => /SASL/.test(message))
  if (hasCode(error, CODE.credentialsRefused) || (isOfCredentials && !isClosed)) {
    return (
      `mend user and password in the transport URL or in REPRIEVE_KAFKA_USER and REPRIEVE_KAFKA_PASSWORD, ` +
      `and '?sasl=' (now ${sasl?.mechanism ?? 'none'})`
    )
  }
  if (has(NOT_TRUSTED)) {
    return "name the file of the brokers' certificate authority by '?ca=' in the transport URL or by REPRIEVE_KAFKA_CA"
  }
  if (has(/^ERR_TLS_CERT_ALTNAME_INVALID$/)) {
    return 'connect by a name that the certificate holds, or give the brokers certificates with this one'
  }
  if (has(/^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/)) return "renew the brokers' certificates"
  if (tls && has(/^(ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG|EPROTO|ECONNRESET)$/)) {
    return `leave out '?tls=true', or write '?tls=false' where REPRIEVE_KAFKA_CA is set, for a port without TLS; or name the brokers' TLS port; else ${LOOK}`
  }
  // a certificate is refused after the handshake: all that is heard of it may be the end of the connection
  if (tls && !sasl && isClosed) return `where that port wants credentials name a user; else ${LOOK}`
  if (tls && (isClosed || has(/^ERR_(SSL|OSSL)_/))) return LOOK
  if (!tls && !has(UNREACHED)) {
    return "start Kafka; where that port wants TLS write '?tls=true', where it wants credentials name a user"
  }
  return undefined
}
