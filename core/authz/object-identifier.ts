import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../kernel/ids.ts'
import type { Failure } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { AuthorizationSchema } from './schema.ts'
import type { ObjectIdentifier } from './types.ts'

/** An object type that is not listed, an id that is no integer of 1..2^63-1, or another person's id for type `user`. */
export const ObjectIdentifierInvalid = defineFailure('ObjectIdentifierInvalid', 'Invalid')

/** A question as it came: the two keys are there, their values are anything. */
export interface RawIdentifier {
  readonly objectType: unknown
  readonly objectID: unknown
}

const maxId = 2n ** 63n - 1n

const isObjectId = (value: unknown): value is number | bigint =>
  (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) ||
  (typeof value === 'bigint' && value >= 1n && value <= maxId)

/**
 * Reads questions. The first bad one refuses them all; `where` opens the message, given the question's index from 0.
 * Failure: ObjectIdentifierInvalid.
 */
export const parseObjectIdentifiers = (
  schema: AuthorizationSchema,
  userId: UserId,
  raws: readonly RawIdentifier[],
  where: (index: number) => string,
): Either<Failure<'ObjectIdentifierInvalid'>, readonly ObjectIdentifier[]> => {
  const questions: ObjectIdentifier[] = []
  for (const [index, { objectType: type, objectID: id }] of raws.entries()) {
    if (typeof type !== 'string' || !schema.listedTypes.includes(type)) {
      return refused(where(index), `invalid object type, expected one of ${schema.listedTypes.join(', ')}`)
    }
    if (!isObjectId(id)) return refused(where(index), 'invalid object id, expected an integer from 1')
    if (type === 'user' && Number(id) !== userId) {
      return refused(where(index), 'invalid object id, for the type user it must be your own id')
    }
    questions.push({ type, id })
  }
  return right(questions)
}

const refused = (where: string, problem: string) => left(ObjectIdentifierInvalid(where + problem))
