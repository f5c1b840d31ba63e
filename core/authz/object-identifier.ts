import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../kernel/brand.ts'
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

/** Reads one question. `where` opens the message: `element 3: `, or nothing for a single question. */
export const parseObjectIdentifier = (
  schema: AuthorizationSchema,
  userId: UserId,
  raw: RawIdentifier,
  where = '',
): Either<Failure<'ObjectIdentifierInvalid'>, ObjectIdentifier> => {
  const { objectType: type, objectID: id } = raw
  if (typeof type !== 'string' || !schema.listedTypes.includes(type)) {
    return left(ObjectIdentifierInvalid(`${where}invalid object type, expected one of ${schema.listedTypes.join(', ')}`))
  }
  if (!isObjectId(id)) return left(ObjectIdentifierInvalid(`${where}invalid object id, expected an integer from 1`))
  if (type === 'user' && Number(id) !== userId) {
    return left(ObjectIdentifierInvalid(`${where}invalid object id, for the type user it must be your own id`))
  }
  return right({ type, id })
}

/** Reads a batch: the first bad element, by its index from 0, refuses the whole. */
export const parseObjectIdentifiers = (
  schema: AuthorizationSchema,
  userId: UserId,
  raws: readonly RawIdentifier[],
): Either<Failure<'ObjectIdentifierInvalid'>, readonly ObjectIdentifier[]> => {
  const questions: ObjectIdentifier[] = []
  for (const [index, raw] of raws.entries()) {
    const parsed = parseObjectIdentifier(schema, userId, raw, `element ${index}: `)
    if (parsed._tag === 'Left') return parsed
    questions.push(parsed.right)
  }
  return right(questions)
}
