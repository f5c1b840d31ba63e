/**
 * Thrown when something that the service needs (the database, a full queue before it) does not answer now.
 * The message is plain and safe to show; the driver's words are in `cause`. The binder answers 503 with `Retry-After`.
 */
export class Unavailable extends Error {
  readonly retryAfterSeconds: number

  constructor(message: string, options: { readonly cause?: unknown; readonly retryAfterSeconds?: number } = {}) {
    super(message, { cause: options.cause })
    this.name = 'Unavailable'
    this.retryAfterSeconds = options.retryAfterSeconds ?? 2
  }
}

/**
 * Thrown when a change was sent to be committed and the answer never came: it may or may not have happened.
 * A client that sent an Idempotency-Key repeats the request and learns which.
 */
export class CommitOutcomeUnknown extends Unavailable {
  constructor(cause: unknown) {
    super('The change was sent to the database and its answer was lost. Look whether it happened before you repeat it.', { cause })
    this.name = 'CommitOutcomeUnknown'
  }
}
