/**
 * Every mistake that a user can mend is thrown as this: a stable `code` for programs, a message that says
 * what and where, and a `fix` that says how to mend it.
 */
export class ReprieveError extends Error {
  readonly code: ErrorCode
  readonly fix: string | undefined

  constructor(code: ErrorCode, message: string, options: { fix?: string; cause?: unknown } = {}) {
    super(options.fix ? `${message}\n  fix: ${options.fix}` : message, { cause: options.cause })
    this.name = 'ReprieveError'
    this.code = code
    this.fix = options.fix
  }
}

export type ErrorCode =
  | 'already_done' // the transaction of this event was committed before
  | 'bad_event' // an event that can't be CloudEvents, or is too large to travel
  | 'bad_url' // a transport or store URL that no adapter knows
  | 'client_missing' // the optional client library of an adapter is not installed
  | 'closed' // used after close
  | 'bad_filter' // a search that can't be read: the message shows the place
  | 'bad_handlers' // handlers registered wrongly, or a module that can't be loaded
  | 'bad_rules' // the rule book does not hold
  | 'bad_usage' // a command or call used wrongly
  | 'conflict' // an event with this id and another payload was seen before
  | 'not_allowed' // who asks may not do it, or not with this
  | 'no_order' // order by key asked where nothing can keep it
  | 'topology_differs' // a queue or topic exists with other settings than the rules ask for
  | 'unheard' // published where nobody is subscribed
  | 'unknown_destination' // a queue or topic of someone else's that is not there
  | 'unknown_group' // no dead letters have this fingerprint
  | 'unknown_letter' // no dead letter has this id
  | 'unknown_operation' // no operation has this id
  | 'unknown_subscription' // forwarded to a subscription that does not exist
  | 'unavailable' // the broker or database did not answer
