import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../core/kernel/failure.ts'

/** The Right of an outcome that a case relies on. */
export const unwrap = <A>(outcome: Either<Failure, A>): A => {
  if (isLeft(outcome)) throw new Error(`${outcome.left.tag}: ${outcome.left.message}`)
  return outcome.right
}

/** The tag of a refusal, or `done`. */
export const tagOf = (outcome: Either<Failure, unknown>): string => (isLeft(outcome) ? outcome.left.tag : 'done')

/** A refusal without what is for the audit log alone. */
export const shown = (outcome: Either<Failure, unknown>): Omit<Failure, 'about'> | undefined => {
  if (!isLeft(outcome)) return undefined
  const { about: _about, ...rest } = outcome.left
  return rest
}
