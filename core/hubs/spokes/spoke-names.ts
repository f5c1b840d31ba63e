import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'

/** The spoke cannot be imported into this hub, or converted to a spoke of it. */
export const SpokeRefused = defineFailure(
  'SpokeRefused',
  'Unprocessable',
  'The cluster cannot become a spoke of the hub; the message says why.',
)

/**
 * The most characters that the name of a spoke may have. The agents name their certificate requests by it, the API
 * server cuts such a name at 58 characters before its random end, and an agent ignores a request whose name does not
 * begin with that of its cluster and `-`.
 */
export const maxSpokeName = 57

/** Checks that the agents of a cluster can join under a name, which is a DNS-1123 label. */
export const checkSpokeName = (name: string): Either<Failure<'SpokeRefused'>, string> =>
  name.length <= maxSpokeName
    ? right(name)
    : left(
        SpokeRefused(
          `The name of a spoke must have at most ${maxSpokeName} characters: agents with a longer one cannot join.`,
        ),
      )
