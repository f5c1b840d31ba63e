import type { Either } from 'fp-ts/lib/Either.js'
import type { AccountId } from './ids.ts'
import type { FreeObject } from './json.ts'

/** The category of a failure. Only the composition root maps a kind to a status. */
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
  | 'BadGateway'
  | 'GatewayTimeout'
  | 'Unavailable'

/** The object of a refusal, for the audit log only: it is never sent to the caller. */
export interface FailureSubject {
  /** The account whose log shows the refusal; absent if there is none. */
  readonly tenantId?: AccountId
  /** The action of the refusal, `object.verb`; defaults to `access.denied`. */
  readonly action?: string
  readonly objectType: string
  readonly objectId?: number
  readonly objectName?: string
  /** Why, where the code says too little. It must not contain a secret, nor what a caller chose. */
  readonly reason?: string
}

/**
 * An expected refusal: a value on the Left, never thrown. `message` is shown to the caller, so it must not contain a
 * secret.
 */
export interface Failure<Tag extends string = string> {
  readonly tag: Tag
  readonly kind: FailureKind
  readonly message: string
  /** Seconds to wait before a retry. It becomes `Retry-After`. */
  readonly retryAfterSeconds?: number
  /** One entry per problem, for responses that list several (field paths, blocking objects). */
  readonly errors?: readonly string[]
  readonly about?: FailureSubject
  /**
   * What happened, for the operator's log only: it may name addresses inside the network. It is never sent to the
   * caller.
   */
  readonly reason?: string
  /** What another system said, where the caller must learn it: its code instead of the tag, and the error behind it. */
  readonly origin?: FailureOrigin
}

/** It must not contain a secret. `error` is empty if there is none. */
export interface FailureOrigin {
  readonly code: string
  readonly error?: FreeObject
}

type FailureExtras = Pick<Failure, 'retryAfterSeconds' | 'errors' | 'about' | 'reason' | 'origin'>

/**
 * A failure's constructor. It also carries the tag, the kind and the meaning, so that a route can declare and document
 * it.
 */
export interface FailureType<Tag extends string> {
  (message: string, extras?: FailureExtras): Failure<Tag>
  readonly tag: Tag
  readonly kind: FailureKind
  /** Kinds that a failure may have instead, for the API documentation. */
  readonly otherKinds: readonly FailureKind[]
  /** One sentence for the API documentation. */
  readonly meaning: string
}

/**
 * Declares a failure, next to the rule that returns it.
 * @example export const RoleMissing = defineFailure('RoleMissing', 'NotFound', 'The role does not exist.')
 */
export const defineFailure = <Tag extends string>(
  tag: Tag,
  kind: FailureKind,
  meaning: string,
  otherKinds: readonly FailureKind[] = [],
): FailureType<Tag> =>
  Object.assign(
    (message: string, extras: FailureExtras = {}): Failure<Tag> => ({
      tag,
      kind,
      message,
      ...extras,
    }),
    { tag, kind, meaning, otherKinds },
  )

/** The result of a use case, port or store. Left is a declared failure; everything unexpected is thrown. */
export type Outcome<F extends Failure, A> = Promise<Either<F, A>>

/**
 * Thrown when a required resource (the database, or the full queue before it) does not respond. The message is plain
 * and safe to show; the driver's message is in `cause`. The binder responds 503 with `Retry-After`.
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
 * Thrown when the caller, or the account for which it calls, already has as much waiting work of a kind as it may have,
 * or when its turn did not come in time. Other callers are served.
 */
export class Busy extends Unavailable {
  constructor(message: string, options: { readonly retryAfterSeconds: number }) {
    super(message, options)
    this.name = 'Busy'
  }
}

/**
 * Thrown when a commit was sent but its response was not received: the change may or may not have been applied. A
 * client that sent an Idempotency-Key repeats the request to learn the outcome.
 */
export class CommitOutcomeUnknown extends Unavailable {
  constructor(cause: unknown) {
    super(
      'The change was sent to the database and its answer was lost. Look whether it happened before you repeat it.',
      { cause },
    )
    this.name = 'CommitOutcomeUnknown'
  }
}

/**
 * Thrown when a change refers to a row that a concurrent change removed after the checks. No part of the change is
 * applied; a repeated request reports what is missing. The message is plain and safe to show. The binder responds 409.
 */
export class Overtaken extends Error {
  constructor(cause: unknown) {
    super('What this change refers to was removed at the same moment. Nothing was changed.', { cause })
    this.name = 'Overtaken'
  }
}
