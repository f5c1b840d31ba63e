import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import { parseInstant } from '../kernel/clock.ts'

/** No instant, or one to come. */
export const CreationTimeRefused = defineFailure('CreationTimeRefused', 'Unprocessable')

/** Since when there is an account that comes from elsewhere, of an RFC 3339 text; undefined where nothing is said. */
export const creationTime = (text: string | undefined, now: Date): Either<Failure<'CreationTimeRefused'>, Date | undefined> => {
  if (text === undefined) return right(undefined)
  const at = parseInstant(text)
  if (at !== undefined && at.getTime() >= 0 && at.getTime() <= now.getTime()) return right(at)
  return left(CreationTimeRefused('created_at is an RFC 3339 instant since 1970 that is not in the future, as 2024-05-01T08:00:00Z.'))
}
