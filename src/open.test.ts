import { expect, it } from 'vitest'
import { withoutSecret } from './open.ts'

it.each([
  ['amqp://ann:hidden@host:5672/v', 'amqp://***@host:5672/v'],
  ['amqp://ann:hid@den/hidden@host', 'amqp://***@host'],
  ['amqp:ann:hidden@host', 'amqp:***@host'],
  ['kafka:/ann:hidden@host:9092', 'kafka:/***@host:9092'],
  ['ann:hidden@host', 'ann:***@host'],
  [' postgres://ann:hidden@host/db', ' postgres://***@host/db'],
  ['kafka://host:9092?tls=true', 'kafka://host:9092?tls=true'],
  ['sqlite:/data/@shop/app.db', 'sqlite:/data/@shop/app.db'],
])('%j is shown as %j', (url, shown) => {
  expect(withoutSecret(url)).toBe(shown)
})
