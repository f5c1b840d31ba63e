import type { Either } from 'fp-ts/lib/Either.js'

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

/** An expected refusal: a value on the Left, never thrown. `message` is shown to the caller, so it carries no secret. */
export interface Failure<Tag extends string = string> {
  readonly tag: Tag
  readonly kind: FailureKind
  readonly message: string
  /** Seconds after which a retry makes sense; becomes `Retry-After`. */
  readonly retryAfterSeconds?: number
  /** One entry a problem, for answers that list several (field paths, blocking objects). */
  readonly errors?: readonly string[]
}

/** A failure's constructor, which also tells its tag and kind, so that a route can declare it. */
export interface FailureType<Tag extends string> {
  (message: string, extras?: Pick<Failure, 'retryAfterSeconds' | 'errors'>): Failure<Tag>
  readonly tag: Tag
  readonly kind: FailureKind
}

/**
 * Declares a failure once, beside the rule that can refuse.
 * @example export const RoleMissing = defineFailure('RoleMissing', 'NotFound')
 */
export const defineFailure = <Tag extends string>(tag: Tag, kind: FailureKind): FailureType<Tag> =>
  Object.assign(
    (message: string, extras: Pick<Failure, 'retryAfterSeconds' | 'errors'> = {}): Failure<Tag> => ({
      tag,
      kind,
      message,
      ...extras,
    }),
    { tag, kind },
  )

/** What a use case, port or store answers: Left is a declared failure, everything unexpected throws. */
export type Outcome<F extends Failure, A> = Promise<Either<F, A>>
