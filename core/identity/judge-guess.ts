import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { TooManyAttempts } from './ports.ts'
import type { Attempt, AttemptThrottle, OnLocked } from './throttle-ports.ts'

export interface JudgeGuessDeps {
  readonly throttle: AttemptThrottle
  readonly onLocked: OnLocked
}

/** An address is told that it is blocked: that says nothing about any account. */
const addressBlocked = (retryAfterSeconds: number): Failure<'TooManyAttempts'> =>
  TooManyAttempts('Too many failed attempts from this address; wait and try again.', { retryAfterSeconds })

/**
 * Every check of something that can be guessed goes through here. `check` answers undefined for a wrong guess; `refused`
 * is the one answer to a wrong guess and to a locked subject. With `whenLocked`, that runs in the check's place on a
 * locked subject, so that it costs as much.
 */
export const makeJudgeGuess =
  ({ throttle, onLocked }: JudgeGuessDeps) =>
  async <E extends Failure, R extends Failure, A>(
    attempt: Attempt,
    check: () => Promise<Either<E, A | undefined>>,
    refused: () => R,
    whenLocked?: () => Promise<Either<E, unknown>>,
  ): Outcome<E | R | Failure<'TooManyAttempts'>, A> => {
    const guarded = await throttle.guard(attempt, check)
    switch (guarded.kind) {
      case 'judged':
        return guarded.answer
      case 'address-blocked':
        return left(addressBlocked(guarded.retryAfterSeconds))
      case 'subject-locked': {
        const spent = await whenLocked?.()
        return left(spent !== undefined && isLeft(spent) ? spent.left : refused())
      }
      case 'wrong':
        if (guarded.hasLocked && typeof attempt.subject === 'number') onLocked({ ...attempt, subject: attempt.subject })
        return left(refused())
    }
  }
