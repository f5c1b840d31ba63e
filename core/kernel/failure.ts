import type { Either } from 'fp-ts/lib/Either.js'
import type { AccountId } from './ids.ts'

/** How a failure is meant; the composition root alone turns a kind into a status. */
export type FailureKind =
  | 'Invalid'
  | 'Unauthenticated'
  | 'Forbidden'
  | 'NotFound'
  | 'Prohibited'
  | 'Conflict'
  | 'Gone'
  | 'StaleVersion'
  | 'Unprocessable'
  | 'Backoff'
  | 'Upstream'
  | 'Unavailable'

/** What a refusal was about, so that it is recorded. For the audit log alone: it never reaches the caller. */
export interface FailureSubject {
  /** The account whose log shows the refusal; absent where there is none. */
  readonly tenantId?: AccountId
  /** What the refusal is called, `object.verb`; `access.denied` unless told. */
  readonly action?: string
  readonly objectType: string
  readonly objectId?: number
  readonly objectName?: string
}

/** An expected refusal: a value on the Left, never thrown. `message` is shown to the caller, so it carries no secret. */
export interface Failure<Tag extends string = string> {
  readonly tag: Tag
  readonly kind: FailureKind
  readonly message: string
  /** Seconds after which a retry makes sense; becomes `Retry-After`. */
  readonly retryAfterSeconds?: number
  /** One entry a problem, for answers that list several (field paths, blocking objects). */
  readonly errors?: readonly string[]
  readonly about?: FailureSubject
}

type FailureExtras = Pick<Failure, 'retryAfterSeconds' | 'errors' | 'about'>

/** A failure's constructor, which also tells its tag and kind, so that a route can declare it. */
export interface FailureType<Tag extends string> {
  (message: string, extras?: FailureExtras): Failure<Tag>
  readonly tag: Tag
  readonly kind: FailureKind
}

/**
 * Declares a failure once, beside the rule that can refuse.
 * @example export const RoleMissing = defineFailure('RoleMissing', 'NotFound')
 */
export const defineFailure = <Tag extends string>(tag: Tag, kind: FailureKind): FailureType<Tag> =>
  Object.assign(
    (message: string, extras: FailureExtras = {}): Failure<Tag> => ({
      tag,
      kind,
      message,
      ...extras,
    }),
    { tag, kind },
  )

/** What a use case, port or store answers: Left is a declared failure, everything unexpected throws. */
export type Outcome<F extends Failure, A> = Promise<Either<F, A>>

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

/**
 * Thrown when a change refers to something that another change removed while it was made, after its own checks. Nothing
 * of it happened; asked again, the request is told what is missing. The message is plain and safe to show. The binder
 * answers 409.
 */
export class Overtaken extends Error {
  constructor(cause: unknown) {
    super('What this change refers to was removed at the same moment. Nothing was changed.', { cause })
    this.name = 'Overtaken'
  }
}
