import { ReprieveError } from '../../core/error.ts'

export type {
  Admin,
  Base,
  Broker,
  ClusterMetadata,
  Connection,
  Consumer,
  GroupPartitionsAssigner,
  Producer,
} from '@platformatic/kafka'

/** The client library, loaded when a URL asks for it. */
export type Client = typeof import('@platformatic/kafka')

/** The partitions to fetch of one topic, as the client's request wants them. */
export type FetchRequestTopic = Parameters<Client['fetchV13']['createRequest']>[6][number]

/** What we reach into the client for (detours.ts), and another release may have no more. */
const REACHED = ['kGetApi', 'kGetBootstrapConnection', 'kListApis', 'kOptions', 'parseBroker'] as const

export const loadClient = async (): Promise<Client> => {
  let client: Client
  try {
    client = await import('@platformatic/kafka')
  } catch (cause) {
    throw new ReprieveError('client_missing', 'kafka:// needs the package @platformatic/kafka', {
      fix: 'npm install @platformatic/kafka@2.12',
      cause,
    })
  }
  checkRelease(client)
  return client
}

export const checkRelease = (client: Partial<Client>): void => {
  const missing = REACHED.filter((name) => client[name] === undefined)
  if (missing.length === 0) return
  throw new ReprieveError(
    'client_missing',
    `this release of @platformatic/kafka has no ${missing.join(', no ')}`,
    { fix: 'npm install @platformatic/kafka@2.12' },
  )
}
