import { ReprieveError } from '../../core/error.ts'

/** The broker closes the channel with these words; the size is that of the body alone. */
const TOO_LARGE = /message size \d+ is larger than (?:configured )?max size (\d+)/

/** The largest body that the broker takes, where this is its refusal of a larger one. Before that nothing tells. */
export const limitIn = ({ message }: Error): number | undefined => {
  const [, bytes] = TOO_LARGE.exec(message) ?? []
  return bytes === undefined ? undefined : Number(bytes)
}

export class TooLarge extends ReprieveError {
  constructor(place: string, bytes: number, limit: number) {
    super(
      'bad_event',
      `RabbitMQ at ${place}: a message of ${bytes} bytes is larger than the ${limit} bytes that it takes`,
      {
        fix: 'raise max_message_size on the broker and restart it, or keep the data elsewhere and let the event name it; a letter holds data that is no JSON as base64, a third larger',
      },
    )
  }
}
