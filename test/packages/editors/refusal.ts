import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../../core/kernel/failure.ts'

/** The refusal that a case relies on. */
export const refusalOf = (outcome: Either<Failure, unknown>): Failure => {
  if (isLeft(outcome)) return outcome.left
  throw new Error('it was not refused')
}
