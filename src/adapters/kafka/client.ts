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

export const loadClient = async (): Promise<Client> => {
  try {
    return await import('@platformatic/kafka')
  } catch (cause) {
    throw new ReprieveError('client_missing', 'kafka:// needs the package @platformatic/kafka', {
      fix: 'npm install @platformatic/kafka',
      cause,
    })
  }
}
