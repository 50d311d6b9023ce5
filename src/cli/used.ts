import { withoutSecret } from '../open.ts'
import { DEFAULT_URL, type Options } from '../reprieve.ts'
import { inert } from './print/inert.ts'

/** What a command opens, as it may be shown. */
export const whatIsUsed = ({ rules, transport, store }: Options): string =>
  [
    `rules ${inert(typeof rules === 'string' ? rules : 'as built in')}`,
    `transport ${inert(withoutSecret(transport ?? DEFAULT_URL))}`,
    ...(store === undefined ? [] : [`store ${inert(withoutSecret(store))}`]),
  ].join(', ')
