import { describe } from 'vitest'

const services = {
  amqp: { env: 'REPRIEVE_TEST_AMQP', nowhere: 'amqp://127.0.0.1:1' },
  kafka: { env: 'REPRIEVE_TEST_KAFKA', nowhere: '127.0.0.1:1' },
  postgres: { env: 'REPRIEVE_TEST_POSTGRES', nowhere: 'postgres://127.0.0.1:1' },
  redis: { env: 'REPRIEVE_TEST_REDIS', nowhere: 'redis://127.0.0.1:1' },
} as const

export type Service = keyof typeof services

export function serviceUrl(service: Service): string | undefined {
  return process.env[services[service].env] || undefined
}

/** Tests that need a real server. Without one they are skipped, counted, and their title says why. */
export function describeWith(service: Service, title: string, body: (url: string) => void): void {
  const { env, nowhere } = services[service]
  const url = serviceUrl(service)
  if (url) return void describe(title, () => body(url))
  const reason = process.env[`${env}_NOT_HAD`] || `${env} is not set`
  describe.skip(`${title} (skipped: ${reason})`, () => body(nowhere))
}

/** The variable may name a broker with or without the scheme. */
export const kafkaUrl = (url: string): string => (url.startsWith('kafka:') ? url : `kafka://${url}`)
